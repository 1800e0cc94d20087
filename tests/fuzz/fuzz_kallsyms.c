/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as /proc/kallsyms. The addresses asked about are the numbers in the text and their neighbours; each must be
 * answered once, in order, by a symbol that starts at or below it and stands in the text.
 */
#include "sym/kernel.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ADDRESSES_MAX 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct question {
	const uint8_t *data;
	size_t size, count, next;
	uint64_t addresses[ADDRESSES_MAX];
};

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void found(void *arg, size_t index, const struct kernel_name *name)
{
	struct question *question = arg;

	must(index == question->next++ && index < question->count);
	if (!name->name)
		return;
	must(name->len && name->start <= question->addresses[index]);
	must(memmem(question->data, question->size, name->name, name->len) != NULL);
	must(!name->module_len || memmem(question->data, question->size, name->module, name->module_len));
}

static int by_value(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static void add_address(struct question *question, uint64_t address)
{
	if (question->count < ADDRESSES_MAX)
		question->addresses[question->count++] = address;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct question question = { .data = data, .size = size };

	for (size_t at = 0; at < size;) {
		char digits[17] = { 0 };

		memcpy(digits, data + at, size - at < 16 ? size - at : 16);
		add_address(&question, strtoull(digits, NULL, 16));
		add_address(&question, strtoull(digits, NULL, 16) + 0x10);
		add_address(&question, strtoull(digits, NULL, 16) - 1);
		for (; at < size && data[at] != '\n'; at++)
			;
		at++;
	}
	qsort(question.addresses, question.count, sizeof(question.addresses[0]), by_value);
	if (kernel_names_in((const char *)data, size, question.addresses, question.count, found, &question) == 0)
		must(question.next == question.count);
	else
		must(question.next == 0);
	return 0;
}
