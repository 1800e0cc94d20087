/* SPDX-License-Identifier: Apache-2.0 */
/* Runs inside the worker: reads the request and the file that it came with, and answers. */
#include "worker/serve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "elf/buildid.h"
#include "elf/cfi.h"
#include "elf/debuglink.h"
#include "elf/image.h"
#include "sym/jitmap.h"
#include "sym/symbols.h"
#include "unwind/rows.h"
#include "worker/shelf.h"
#include "worker/protocol.h"

#define NAMES_BYTES_MAX ((size_t)48 << 20) /* of an answer; a file may have a long name for each address */

static void serve_identity(int fd, struct buf *reply)
{
	unsigned char id[BUILD_ID_MAX];
	int len = buildid_read(fd, id);

	answer_identity(reply, id, len > 0 ? (size_t)len : 0,
			len == -ENOEXEC ? "not_elf"
			: len <= 0      ? "no_build_id"
					: NULL);
}

/* An answer in which no address has a name, with the reason. */
static void serve_nothing(const struct ask *ask, const char *reason, struct buf *reply)
{
	struct answer_writer writer;

	if (answer_begin(&writer, reply, reason))
		return;
	for (size_t i = 0; i < ask->addresses_len; i++)
		answer_frames(&writer, NULL, 0);
	answer_end(&writer);
}

/* The reason comes before the names, but is known after them: some of it is met on the way. */
static void find_all(struct symbols *symbols, const struct ask *ask, struct buf *reply)
{
	struct symbol_name list[SYMBOLS_INLINE_MAX];
	struct answer_writer writer, head;
	autobuf struct buf names = { 0 };
	bool fits = true;
	size_t begin;

	if (answer_begin(&writer, &names, NULL))
		return;
	begin = names.len;
	for (size_t i = 0; i < ask->addresses_len; i++) {
		fits = fits && names.len <= NAMES_BYTES_MAX;
		answer_frames(&writer, list,
			      fits ? symbols_find(symbols, ask->addresses[i], list, SYMBOLS_INLINE_MAX) : 0);
	}
	answer_end(&writer);
	if (buf_error(&names) || answer_begin(&head, reply, fits ? symbols_reason(symbols) : "too_big"))
		return;
	answer_end(&head);
	buf_add(reply, names.data + begin, names.len - begin);
}

/*
 * The symbols of the file and of its debug files. NULL with the reason; what they want of debug files in `ret_debug`.
 */
static struct symbols *open_symbols(const struct ask *ask, const int *fds, size_t fds_len,
				    struct symbols_debug *ret_debug, const char **ret_reason)
{
	char file[256] = "";
	struct symbols_options options = { file, ask->demangle, ask->inlines, ask->lines };
	struct symbols *symbols = NULL;
	int err;

	memcpy(file, ask->file, ask->file_len < sizeof(file) ? ask->file_len : sizeof(file) - 1);
	err = symbols_open(&symbols, fds[0], &options);
	if (err) {
		*ret_reason = err == -ENOEXEC ? "not_elf" : err == -EFBIG ? "too_complex" : "bad_elf";
		return NULL;
	}
	for (size_t i = 1; i < fds_len; i++)
		symbols_add_debug(symbols, fds[i]);
	symbols_debug(symbols, ret_debug);
	return symbols;
}

static void serve_names(struct shelf *shelf, const struct ask *ask, const int *fds, size_t fds_len, struct buf *reply)
{
	struct symbols *symbols = shelf ? shelf_find(shelf, ask, fds, fds_len) : NULL;
	struct symbols_debug debug = { 0 };
	const char *reason = NULL;

	if (symbols) {
		find_all(symbols, ask, reply);
		return;
	}
	symbols = open_symbols(ask, fds, fds_len, &debug, &reason);
	if (!symbols) {
		serve_nothing(ask, reason, reply);
		return;
	}
	if (!ask->last && ((debug.wanted && (debug.build_id_len || *debug.link)) || debug.alt_id_len)) {
		answer_wants_debug(reply, &debug);
		symbols_free(symbols);
		return;
	}
	find_all(symbols, ask, reply);
	symbols_rest(symbols);
	if (shelf)
		shelf_put(shelf, ask, fds, fds_len, symbols);
	else
		symbols_free(symbols);
}

static void serve_jit(const struct ask *ask, int fd, struct buf *reply)
{
	struct answer_writer writer;
	struct jitmap *map = NULL;
	int err = jitmap_open(&map, fd);

	if (err) {
		serve_nothing(ask, err == -EFBIG ? "map_too_big" : "bad_map", reply);
		jitmap_free(map);
		return;
	}
	if (!answer_begin(&writer, reply, NULL)) {
		for (size_t i = 0; i < ask->addresses_len; i++) {
			struct symbol_name name = { 0 };
			bool found = jitmap_find(map, ask->addresses[i], &name.name, &name.len, &name.start);

			answer_frames(&writer, &name, found);
		}
		answer_end(&writer);
	}
	jitmap_free(map);
}

/* What a debug file would be known by; false if nothing is. */
static bool knows_debug(int fd, struct symbols_debug *ret)
{
	struct symbols_options options = { .file = "" };
	struct symbols *symbols = NULL;
	int err = symbols_open(&symbols, fd, &options);

	if (!err)
		symbols_debug(symbols, ret);
	symbols_free(symbols);
	return !err && (ret->build_id_len || *ret->link);
}

/* The table, from the words of the file and of its debug file. True if that one is wanted first, and may be had. */
static bool build_rows(const struct ask *ask, const int *fds, size_t fds_len, struct buf *reply,
		       struct symbols_debug *ret_wanted, int *ret_err)
{
	struct image *image = NULL, *debug = NULL;
	struct cfi *cfi = NULL;
	bool wanted = false;
	int err = image_open(&image, fds[0]);

	if (!err && fds_len > 1 && (image_open(&debug, fds[1]) || !debuglink_belongs(image, debug))) {
		image_free(debug);
		debug = NULL;
	}
	err = err ? err : cfi_open(&cfi, image, debug);
	if (!ask->last && fds_len == 1 && (err == -ENODATA || (!err && !cfi_suffices(cfi, image))))
		wanted = knows_debug(fds[0], ret_wanted);
	if (!err && !wanted)
		err = rows_build(image, cfi, reply);
	cfi_free(cfi);
	image_free(debug);
	image_free(image);
	*ret_err = err;
	return wanted;
}

static void serve_rows(const struct ask *ask, const int *fds, size_t fds_len, struct buf *reply)
{
	size_t before = reply->len;
	struct symbols_debug debug;
	const char *reason = NULL;
	int err;

	buf_varint(reply, ANSWER_ROWS);
	if (build_rows(ask, fds, fds_len, reply, &debug, &err)) {
		reply->len = before;
		answer_wants_debug(reply, &debug);
		return;
	}
	if (!err)
		return;
	reply->len = before;
	reason = err == -ENODATA ? "no_unwind_info" : err == -EFBIG ? "unwind_too_big" : "bad_elf";
	buf_varint(reply, ANSWER_NO_ROWS);
	buf_varint(reply, strlen(reason));
	buf_adds(reply, reason);
}

void serve(void *arg, const void *request, size_t len, const int *fds, size_t fds_len, struct buf *reply, int *ret_fd)
{
	uint64_t *addresses = NULL;
	struct ask ask;

	(void)ret_fd;
	if (ask_read(request, len, &ask, &addresses) || !fds_len)
		return; /* an empty answer is no answer */
	switch (ask.kind) {
	case ASK_IDENTIFY:
		serve_identity(fds[0], reply);
		break;
	case ASK_NAMES:
		serve_names(arg, &ask, fds, fds_len, reply);
		break;
	case ASK_JIT:
		serve_jit(&ask, fds[0], reply);
		break;
	case ASK_ROWS:
		serve_rows(&ask, fds, fds_len, reply);
		break;
	}
	free(addresses);
}
