/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked of the worker and what it answers. Neither side trusts the other's bytes: the worker may have been
 * taken over by the file it read.
 *
 *   ASK_IDENTIFY  fds: the file                   the build id
 *   ASK_NAMES     fds: the file, debug files      names of functions at offsets in the file
 *   ASK_JIT       fds: a perf map or jitdump      names at addresses
 *   ASK_ROWS      fds: the file, its debug file   its unwind table, as unwind/rows.h has it
 */
#ifndef WICK_WORKER_PROTOCOL_H
#define WICK_WORKER_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "sym/symbols.h"

enum ask_kind {
	ASK_IDENTIFY = 1,
	ASK_NAMES,
	ASK_JIT,
	ASK_ROWS,
};

#define ASK_ADDRESSES_MAX (1 << 20)
#define ANSWER_NAME_MAX (64 << 10)

struct ask {
	enum ask_kind kind;
	const char *file; /* ASK_NAMES: its name, for functions that have none */
	size_t file_len;
	enum symbols_demangle demangle;
	bool inlines, lines;
	bool last;                 /* there is no debug file beyond those given, do not ask for one */
	const uint64_t *addresses; /* ascending */
	size_t addresses_len;
};

void ask_write(const struct ask *ask, struct buf *out);

/* The addresses are allocated: free them. The file's name points into the request. -EBADMSG. */
int ask_read(const void *data, size_t len, struct ask *ret, uint64_t **ret_addresses);

/* ---- answers ---- */

enum answer_kind {
	ANSWER_IDENTITY = 1,
	ANSWER_NAMES,
	ANSWER_WANTS_DEBUG, /* ask again, with the file or with `last` */
	ANSWER_ROWS,        /* followed by the table */
	ANSWER_NO_ROWS,     /* followed by the reason */
};

struct answer_frame {
	const char *name, *source;
	size_t name_len, source_len;
	uint64_t start;
	uint32_t line;
	bool inlined;
};

/* Writing ANSWER_NAMES: begin, then one call for each address in order. */
struct answer_writer {
	struct buf *out;
	struct intern *strings; /* a name is written once, later ones refer to it */
};

int answer_begin(struct answer_writer *writer, struct buf *out, const char *reason);
void answer_frames(struct answer_writer *writer, const struct symbol_name *list, size_t len);
void answer_end(struct answer_writer *writer);

void answer_identity(struct buf *out, const unsigned char *build_id, size_t len, const char *reason);
void answer_wants_debug(struct buf *out, const struct symbols_debug *debug);

/* Reading: the kind, then what belongs to it. All fail with -EBADMSG and never read beyond. */
struct answer_reader {
	struct cursor in;
	const char **strings; /* of the names so far */
	size_t *lens;
	size_t len, cap;
};

int answer_open(struct answer_reader *ret, const void *data, size_t len, enum answer_kind *ret_kind);
void answer_close(struct answer_reader *reader);
int answer_read_identity(struct answer_reader *reader, const void **ret_id, size_t *ret_len, const char **ret_reason,
			 size_t *ret_reason_len);
int answer_read_debug(struct answer_reader *reader, struct symbols_debug *ret);
int answer_read_reason(struct answer_reader *reader, const char **ret, size_t *ret_len); /* first of ANSWER_NAMES */
int answer_read_frames(struct answer_reader *reader, struct answer_frame *list, size_t max, size_t *ret_len);

#endif
