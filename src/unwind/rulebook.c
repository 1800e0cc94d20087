/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules are counted by the tables that use them, and charged to the user whose table brought them first. Invariant: a
 * number in use has one rule, and the map knows each rule in use; two rules of one hash do not get into the map
 * together.
 */
#include "unwind/rulebook.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct rulebook_use {
	uint64_t user;
	uint32_t tables;
	uint32_t next; /* free one, plus one */
};

int rulebook_open(struct rulebook *book, struct wire_rule *rules, uint64_t seed)
{
	*book = (struct rulebook){ .rules = rules, .seed = seed };
	book->uses = calloc(WIRE_RULES_MAX, sizeof(*book->uses));
	return book->uses ? 0 : -ENOMEM;
}

void rulebook_close(struct rulebook *book)
{
	map_free(&book->numbers);
	map_free(&book->users);
	free(book->uses);
	book->uses = NULL;
}

static uint64_t hash_of(const struct rulebook *book, const struct wire_rule *rule)
{
	uint64_t words[sizeof(*rule) / sizeof(uint64_t)], hash = book->seed;

	_Static_assert(sizeof(words) == sizeof(*rule), "");
	memcpy(words, rule, sizeof(words));
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		hash = wire_mix(hash, words[i]);
	return hash;
}

static int new_number(struct rulebook *book)
{
	uint32_t number = book->free ? book->free - 1 : book->len;

	if (number >= WIRE_RULES_MAX)
		return -ENOSPC;
	if (book->free)
		book->free = book->uses[number].next;
	else
		book->len++;
	return (int)number;
}

static int add(struct rulebook *book, const struct wire_rule *rule, uint64_t user, uint64_t hash)
{
	uint64_t *own = map_put(&book->users, user), *slot;
	int number;

	if (!own)
		return -ENOMEM;
	if (!WIRE_USER_MAY(user, *own, book->taken, WIRE_RULES_MAX))
		return -EDQUOT;
	number = new_number(book);
	slot = number < 0 ? NULL : map_put(&book->numbers, hash);
	if (!slot)
		return number < 0 ? number : -ENOMEM;
	*slot = (uint64_t)number;
	++*own;
	book->taken++;
	book->rules[number] = *rule;
	book->uses[number] = (struct rulebook_use){ .user = user, .tables = 1 };
	return number;
}

int rulebook_take(struct rulebook *book, const struct wire_rule *rule, uint64_t user)
{
	uint64_t hash = hash_of(book, rule), *slot = map_get(&book->numbers, hash);

	if (!slot)
		return add(book, rule, user, hash);
	if (memcmp(&book->rules[*slot], rule, sizeof(*rule)))
		return -ENOSPC;
	book->uses[*slot].tables++;
	return (int)*slot;
}

void rulebook_drop(struct rulebook *book, uint32_t number)
{
	struct rulebook_use *use = &book->uses[number];
	uint64_t *own;

	if (--use->tables)
		return;
	own = map_get(&book->users, use->user);
	if (own)
		--*own;
	map_remove(&book->numbers, hash_of(book, &book->rules[number]));
	book->taken--;
	use->next = book->free;
	book->free = number + 1;
}
