/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes in an array, found by (parent, label). Invariant: a parent's number is smaller than its child's, so one pass
 * from the end adds up totals. Children are sorted by weight; the builder decides between equals, so the same paths
 * always give the same order.
 */
#include "out/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define FIRST_CAP 256u

static int grow(struct tree *tree)
{
	uint32_t cap = tree->cap ? tree->cap * 2 : FIRST_CAP;
	struct tree_node *nodes;

	if (tree->len < tree->cap)
		return 0;
	if (tree->cap > TREE_FULL / 2)
		return -ENOMEM;
	nodes = reallocarray(tree->nodes, cap, sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	tree->nodes = nodes;
	tree->cap = cap;
	return 0;
}

int tree_init(struct tree *tree)
{
	int err = grow(tree);

	if (!err) {
		memset(&tree->nodes[0], 0, sizeof(tree->nodes[0]));
		tree->len = 1;
	}
	return err;
}

void tree_free(struct tree *tree)
{
	free(tree->nodes);
	free(tree->children);
	map_free(&tree->merged);
	*tree = (struct tree){ 0 };
}

uint32_t tree_child(struct tree *tree, uint32_t parent, uint32_t label)
{
	uint64_t *slot;

	if (parent == TREE_FULL || grow(tree))
		return TREE_FULL;
	slot = map_put(&tree->merged, (uint64_t)parent << 32 | label);
	if (!slot)
		return TREE_FULL;
	if (!*slot) { /* no node is a child and number 0 */
		tree->nodes[tree->len] = (struct tree_node){ .parent = parent, .label = label };
		*slot = tree->len++;
	}
	return (uint32_t)*slot;
}

struct sorting {
	const struct tree *tree;
	tree_order *order;
	const void *context;
};

static int compare(const void *a, const void *b, void *context)
{
	const struct sorting *sorting = context;
	const struct tree_node *left = &sorting->tree->nodes[*(const uint32_t *)a];
	const struct tree_node *right = &sorting->tree->nodes[*(const uint32_t *)b];

	if (left->total != right->total)
		return left->total < right->total ? 1 : -1;
	return sorting->order(left->label, right->label, sorting->context);
}

int tree_finish(struct tree *tree, tree_order *order, const void *context)
{
	struct sorting sorting = { tree, order, context };
	uint32_t at = 0;

	tree->children = calloc(tree->len, sizeof(*tree->children));
	if (!tree->children)
		return -ENOMEM;
	for (uint32_t i = tree->len; i--;) {
		struct tree_node *node = &tree->nodes[i];

		node->total += node->self;
		if (i) {
			tree->nodes[node->parent].total += node->total;
			tree->nodes[node->parent].count++;
		}
	}
	for (uint32_t i = 0; i < tree->len; i++) {
		tree->nodes[i].first = at;
		at += tree->nodes[i].count;
		tree->nodes[i].count = 0;
	}
	for (uint32_t i = 1; i < tree->len; i++) {
		struct tree_node *parent = &tree->nodes[tree->nodes[i].parent];

		tree->children[parent->first + parent->count++] = i;
	}
	for (uint32_t i = 0; i < tree->len; i++)
		qsort_r(tree->children + tree->nodes[i].first, tree->nodes[i].count, sizeof(*tree->children), compare,
			&sorting);
	return 0;
}

int tree_walk(const struct tree *tree, tree_visit *enter, tree_visit *leave, void *context)
{
	autofree uint32_t *done = calloc(tree->len, sizeof(*done)); /* by node: children that were visited */
	uint32_t node = 0;

	if (!done)
		return -ENOMEM;
	enter(tree, node, context);
	for (;;) {
		const struct tree_node *at = &tree->nodes[node];

		if (done[node] < at->count) {
			node = tree->children[at->first + done[node]++];
			enter(tree, node, context);
			continue;
		}
		leave(tree, node, context);
		if (!node)
			return 0;
		node = at->parent;
	}
}
