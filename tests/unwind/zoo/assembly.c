/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions written by hand, each of which keeps its frame in another way; see assembly.S. The argument says which of
 * them the stack has; they call back into C, of this file and of another one, that uses every register.
 */
#include "zoo.h"

typedef unsigned long function(unsigned long n);

function assembly_far; /* of another file: calls assembly_leaf */

function *assembly_next, *assembly_leaf;
function by_rbx, by_r12, by_deref, by_deref_plus, by_plus, by_r13_ra, by_kept_rbp, by_other_stack, by_leaf_rdi,
	by_states;

static const struct {
	const char *name;
	function *enter;
} ways[] = {
	{ "rbx", by_rbx },           { "r12", by_r12 },
	{ "deref", by_deref },       { "deref-plus", by_deref_plus },
	{ "plus", by_plus },         { "ra-register", by_r13_ra },
	{ "kept-rbp", by_kept_rbp }, { "other-stack", by_other_stack },
	{ "leaf-rdi", by_leaf_rdi }, { "states", by_states },
};

/* Its frame is found by rbp, which must be right when it is reached. */
ZOO static unsigned long by_rbp(unsigned long n, unsigned long m, function *enter)
{
	volatile unsigned long numbers[n + 3];

	numbers[n] = m;
	n = enter(n) + m;
	return n + numbers[n % 3];
}

static function *entered;

ZOO static unsigned long enters(unsigned long n)
{
	return by_rbp(n, 1, entered) + n;
}

ZOO_LAST(inner, enters)
ZOO_LEVEL(outer, inner)

ZOO static unsigned long leaf(unsigned long n)
{
	return zoo_spin(n) + n;
}

int main(int argc, char **argv)
{
	assembly_leaf = leaf;
	assembly_next = argc > 2 && !strcmp(argv[2], "far") ? assembly_far : leaf;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (argc > 1 && !strcmp(argv[1], ways[i].name))
			entered = ways[i].enter;
	if (!entered)
		return 1;
	if (entered == by_leaf_rdi || entered == by_states)
		zoo_ready();
	return (int)outer(1, 2, 3, 4, 5, 6) + argc;
}
