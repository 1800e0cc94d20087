/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the page share among themselves. Others use out/page.h. */
#ifndef WICK_OUT_PAGE_PARTS_H
#define WICK_OUT_PAGE_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"

#define PAGE_MAGIC "wickpage"
#define PAGE_VERSION 1
#define PAGE_NO_STACK 6u /* kind of the frame of samples without a stack; the others are enum frame_kind, */
#define PAGE_NAMELESS 8u /* with this bit if nobody knows the name */

struct intern;
struct page;

/* In the order in which they stand in the block. */
enum page_column {
	PAGE_STRINGS,
	PAGE_FRAME_NAME,
	PAGE_FRAME_MODULE,
	PAGE_FRAME_KIND,
	PAGE_FRAME_PATH,
	PAGE_FRAME_BUILD_ID,
	PAGE_FRAME_SOURCE,
	PAGE_FRAME_LINE,
	PAGE_NODE_UP,
	PAGE_NODE_FRAME,
	PAGE_TASK_COMM,
	PAGE_TASK_PID,
	PAGE_TASK_TID,
	PAGE_TASK_PROCESS,
	PAGE_TASK_CONTAINER,
	PAGE_TASK_UNIT,
	PAGE_ROW_NODE,
	PAGE_ROW_TASK,
	PAGE_ROW_VALUE,
	PAGE_BEFORE_NODE,
	PAGE_BEFORE_TASK,
	PAGE_BEFORE_VALUE,
	PAGE_COLUMNS
};

/* Strings by number. */
struct page_frame {
	uint32_t name, module, kind, path, build_id, source, line;
};

struct page_task {
	uint32_t comm, pid, tid, process, container, unit;
};

struct page_node {
	uint32_t parent, frame;
};

struct page_row {
	uint64_t value;
	uint32_t node, task;
};

struct page_rows {
	struct page_row *list;
	uint32_t len;
};

/* A page's data on the way to its columns. Tables begin at number 1. */
struct page_data {
	struct intern *strings;
	struct intern *frame_keys, *task_keys;
	struct page_frame *frames;
	struct page_task *tasks;
	struct page_node *nodes;
	struct map places; /* (parent, frame) to node */
	size_t frames_cap, tasks_cap, nodes_cap;
	uint32_t frames_len, tasks_len, nodes_len;
	struct page_rows rows[2]; /* of the profile, of the one before */
	struct buf columns[PAGE_COLUMNS];
	struct buf scratch;
};

/* The head: what was done, how much there is of everything, how far to trust it. */
int page_head(const struct page_data *data, const struct page *page, struct buf *out);

#endif
