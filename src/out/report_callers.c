/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who calls a function: the tree of paths upside down. Made from the tree of paths, so each stack counts once, and of a
 * function that calls itself only its first caller counts. Paths end in the group (process) that they belong to.
 */
#include "out/report_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fail.h"

/* The work of finding the callers. */
struct search {
	const struct tally *tally;
	struct tree tree;
	bool *wanted;    /* by function */
	uint32_t active; /* how many of them are on the path */
	int err;
};

/* The function of that name, or if there is none, those whose names have it in them. */
static uint32_t find_functions(struct search *search, const char *text)
{
	uint32_t found = 0;

	for (int part = 0; part < 2 && !found; part++)
		for (uint32_t i = 1; i < search->tally->functions_len; i++) {
			const struct tally_function *function = &search->tally->functions[i];

			if (!function->total || (part ? !strstr(function->name, text) : strcmp(function->name, text)))
				continue;
			search->wanted[i] = true;
			found++;
		}
	return found;
}

/* Where a path meets a wanted function first: that it calls itself further on is not a caller. */
static void enter(const struct tree *tree, uint32_t node, void *context)
{
	struct search *search = context;
	uint32_t label = tree->nodes[node].label, at = 0;

	if (!node || tally_is_group(label) || !search->wanted[label] || search->active++ || search->err)
		return;
	for (uint32_t caller = node; caller; caller = tree->nodes[caller].parent)
		at = tree_child(&search->tree, at, tree->nodes[caller].label);
	if (at == TREE_FULL)
		search->err = -ENOMEM;
	else
		search->tree.nodes[at].self += tree->nodes[node].total;
}

static void leave(const struct tree *tree, uint32_t node, void *context)
{
	struct search *search = context;
	uint32_t label = tree->nodes[node].label;

	if (node && !tally_is_group(label) && search->wanted[label])
		search->active--;
}

int report_callers(struct report *report)
{
	const char *name = report->options->callers;
	autofree bool *wanted = calloc(report->tally.functions_len + 1, sizeof(*wanted));
	struct search search = { .tally = &report->tally, .wanted = wanted };
	int err = wanted ? tree_init(&search.tree) : -ENOMEM;

	if (!err && !find_functions(&search, name)) {
		fail_plain(-EINVAL, "callers: no function in this profile is called '%s'", name);
		err = fail_hint(-EINVAL, "the report without --callers names the hottest");
	}
	err = err ? err : tree_walk(&report->tally.tree, enter, leave, &search);
	err = err ? err : search.err;
	err = err ? err : tree_finish(&search.tree, tally_compare, &report->tally);
	err = err ? err : report_tree(report, &search.tree, true);
	tree_free(&search.tree);
	return err;
}
