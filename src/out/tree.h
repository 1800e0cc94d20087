/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tree of weighted paths, equal ones merged: what a report and a flame graph show. Node 0 is the root of all and has
 * no label. Grow it with tree_child, then tree_finish once, then read.
 */
#ifndef WICK_OUT_TREE_H
#define WICK_OUT_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

#define TREE_FULL UINT32_MAX

struct tree_node {
	uint64_t self;  /* of paths that end here: the builder's to fill */
	uint64_t total; /* of paths that pass here, after tree_finish */
	uint32_t parent;
	uint32_t label;
	uint32_t first, count; /* its children in `children`, the heaviest first, equals by the builder's order */
};

struct tree {
	struct tree_node *nodes;
	uint32_t len, cap;
	uint32_t *children;
	struct map merged; /* (parent, label) */
};

/* Negative, 0 or positive, as of two labels: the order of equals. */
typedef int tree_order(uint32_t left, uint32_t right, const void *context);

int tree_init(struct tree *tree); /* of {0} */
void tree_free(struct tree *tree);

/* The child with that label, made if there is none; TREE_FULL if memory is out, or the parent is that. */
uint32_t tree_child(struct tree *tree, uint32_t parent, uint32_t label);

int tree_finish(struct tree *tree, tree_order *order, const void *context);

/*
 * Visits every node, a parent before its children, and again when its children are done. Does not recurse: paths may
 * be as deep as a file says.
 */
typedef void tree_visit(const struct tree *tree, uint32_t node, void *context);
int tree_walk(const struct tree *tree, tree_visit *enter, tree_visit *leave, void *context);

#endif
