/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dictionary of an era: every string, file, process, frame, label set and stack of its windows once, numbered from
 * 1 in the order they came. In memory it is a profile without samples, and beside it `who` a sample is of. On disk it
 * is blocks of a fixed number of records, each a list of columns.
 *
 * A frame is found by its place (file and offset, or address) where it has one. Its name is beside it, may come later,
 * and then holds for all windows that have the frame; the same goes for what is known of files and processes.
 */
#ifndef WICK_STORE_DICT_H
#define WICK_STORE_DICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/index.h"
#include "base/map.h"

struct buf;
struct profile;
struct profile_file;
struct profile_frame;
struct profile_process;

/* In the order in which they are read: what a record refers to is in a table before, or the same. */
enum dict_table {
	DICT_STRINGS,
	DICT_LABELS,
	DICT_FILES,
	DICT_PROCESSES,
	DICT_FRAMES,
	DICT_STACKS,
	DICT_WHOS,
	DICT_TABLES
};

struct dict_who {
	uint32_t process;
	uint32_t tid;
	uint32_t comm; /* string */
	uint32_t labels;
};

struct dict {
	struct profile *model;
	struct dict_who *whos; /* number 0 is all zero */
	uint32_t whos_len, whos_cap;
	struct index who_index;
	uint64_t seed[2];
	struct map functions; /* the first frame of each, by kind, file or process, and name */
	struct dict_changes {
		unsigned char *changed; /* by block: a record that is stored already is not what is stored */
		uint32_t len;           /* blocks that `changed` has room for */
		uint32_t stored;        /* records, number 0 included */
	} changes[DICT_TABLES];
};

int dict_new(struct dict **ret);
void dict_free(struct dict *dict);
uint32_t dict_count(const struct dict *dict, enum dict_table table); /* number 0 included */
size_t dict_memory(const struct dict *dict);

/* The numbers of these; what is known newly of one that was there is filled in. PROFILE_FULL if memory is out. */
uint32_t dict_add_file(struct dict *dict, const struct profile_file *file);
uint32_t dict_add_frame(struct dict *dict, const struct profile_frame *frame);
uint32_t dict_add_process(struct dict *dict, const struct profile_process *process);
/* When a process started, as it is kept: to the millisecond, which tells apart as well and takes half the bytes. */
uint64_t dict_start(uint64_t start);
uint32_t dict_add_who(struct dict *dict, const struct dict_who *who);
struct dict_who dict_who(const struct dict *dict, uint32_t number);
/* The frame that stands for all of its function: itself, or another of the same name in the same file. */
uint32_t dict_function(const struct dict *dict, uint32_t frame);

/* Blocks: which there are, whether one differs from what is stored, and that all are stored now. */
uint32_t dict_blocks(const struct dict *dict, enum dict_table table);
bool dict_is_changed(const struct dict *dict, enum dict_table table, uint32_t block);
bool dict_is_full(const struct dict *dict, enum dict_table table, uint32_t block); /* no record will be added */
void dict_stored(struct dict *dict);

void dict_write_block(const struct dict *dict, enum dict_table table, uint32_t block, struct buf *ret);
/* New records are added, those that are there are filled in. -EBADMSG if that cannot be. */
int dict_read_block(struct dict *dict, enum dict_table table, uint32_t block, const void *data, size_t len);

#endif
