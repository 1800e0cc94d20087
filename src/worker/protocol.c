/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes between wick and its worker: variable-length numbers, differences between ascending addresses, and each
 * string written once. A string is a number: one more than those before means that its bytes follow.
 */
#include "worker/protocol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"

static void put_text(struct buf *out, const char *text, size_t len)
{
	buf_varint(out, len);
	buf_add(out, text, len);
}

static int get_text(struct cursor *in, size_t max, const char **ret, size_t *ret_len)
{
	uint64_t len = cursor_varint(in);

	*ret = len <= max ? cursor_bytes(in, (size_t)len) : NULL;
	*ret_len = (size_t)len;
	return in->bad || !*ret ? -EBADMSG : 0;
}

enum ask_flags {
	ASK_INLINES = 1,
	ASK_LINES = 2,
	ASK_LAST = 4,
};

void ask_write(const struct ask *ask, struct buf *out)
{
	uint64_t before = 0;

	buf_varint(out, ask->kind);
	buf_varint(out, ask->demangle);
	buf_varint(out, (ask->inlines ? ASK_INLINES : 0) | (ask->lines ? ASK_LINES : 0) | (ask->last ? ASK_LAST : 0));
	put_text(out, ask->file ? ask->file : "", ask->file_len);
	buf_varint(out, ask->addresses_len);
	for (size_t i = 0; i < ask->addresses_len; i++) {
		buf_varint(out, ask->addresses[i] - before);
		before = ask->addresses[i];
	}
}

int ask_read(const void *data, size_t len, struct ask *ret, uint64_t **ret_addresses)
{
	struct cursor in = cursor_of(data, len);
	uint64_t before = 0, count, flags, *addresses;

	*ret = (struct ask){ .kind = (enum ask_kind)cursor_varint(&in) };
	ret->demangle = (enum symbols_demangle)cursor_varint(&in);
	flags = cursor_varint(&in);
	ret->inlines = flags & ASK_INLINES;
	ret->lines = flags & ASK_LINES;
	ret->last = flags & ASK_LAST;
	if (get_text(&in, 4096, &ret->file, &ret->file_len))
		return -EBADMSG;
	count = cursor_varint(&in);
	if (in.bad || count > ASK_ADDRESSES_MAX || count > cursor_left(&in))
		return -EBADMSG;
	addresses = calloc(count ? count : 1, sizeof(*addresses));
	if (!addresses)
		return -ENOMEM;
	for (uint64_t i = 0; i < count; i++)
		addresses[i] = before += cursor_varint(&in);
	if (in.bad) {
		free(addresses);
		return -EBADMSG;
	}
	*ret_addresses = addresses;
	ret->addresses = addresses;
	ret->addresses_len = count;
	return 0;
}

static void put_string(struct answer_writer *writer, const char *text, size_t len)
{
	uint32_t before = intern_count(writer->strings), number = intern_bytes(writer->strings, text, len);

	if (number == UINT32_MAX) {
		writer->out->err = -ENOMEM;
		return;
	}
	buf_varint(writer->out, number);
	if (number == before)
		put_text(writer->out, text, len);
}

int answer_begin(struct answer_writer *writer, struct buf *out, const char *reason)
{
	writer->out = out;
	buf_varint(out, ANSWER_NAMES);
	put_text(out, reason ? reason : "", reason ? strlen(reason) : 0);
	return intern_new(&writer->strings);
}

void answer_frames(struct answer_writer *writer, const struct symbol_name *list, size_t len)
{
	buf_varint(writer->out, len);
	for (size_t i = 0; i < len; i++) {
		put_string(writer, list[i].name, list[i].len < ANSWER_NAME_MAX ? list[i].len : ANSWER_NAME_MAX);
		buf_varint(writer->out, list[i].start);
		buf_varint(writer->out, (uint64_t)list[i].line << 1 | list[i].inlined);
		put_string(writer, list[i].source ? list[i].source : "", list[i].source ? strlen(list[i].source) : 0);
	}
}

void answer_end(struct answer_writer *writer)
{
	intern_free(writer->strings);
	writer->strings = NULL;
}

void answer_identity(struct buf *out, const unsigned char *build_id, size_t len, const char *reason)
{
	buf_varint(out, ANSWER_IDENTITY);
	put_text(out, (const char *)build_id, len);
	put_text(out, reason ? reason : "", reason ? strlen(reason) : 0);
}

void answer_wants_debug(struct buf *out, const struct symbols_debug *debug)
{
	buf_varint(out, ANSWER_WANTS_DEBUG);
	put_text(out, (const char *)debug->build_id, debug->build_id_len);
	put_text(out, debug->link, strnlen(debug->link, sizeof(debug->link)));
	buf_varint(out, debug->link_crc);
	buf_varint(out, debug->wanted);
	put_text(out, (const char *)debug->alt_id, debug->alt_id_len);
	put_text(out, debug->alt_link, strnlen(debug->alt_link, sizeof(debug->alt_link)));
}

int answer_open(struct answer_reader *ret, const void *data, size_t len, enum answer_kind *ret_kind)
{
	*ret = (struct answer_reader){ .in = cursor_of(data, len) };
	*ret_kind = (enum answer_kind)cursor_varint(&ret->in);
	return ret->in.bad || *ret_kind < ANSWER_IDENTITY || *ret_kind > ANSWER_NO_ROWS ? -EBADMSG : 0;
}

void answer_close(struct answer_reader *reader)
{
	free(reader->strings);
	free(reader->lens);
}

int answer_read_identity(struct answer_reader *reader, const void **ret_id, size_t *ret_len, const char **ret_reason,
			 size_t *ret_reason_len)
{
	const char *id;
	int err = get_text(&reader->in, SYMBOLS_BUILD_ID_MAX, &id, ret_len);

	*ret_id = id;
	return err ? err : get_text(&reader->in, 256, ret_reason, ret_reason_len);
}

int answer_read_debug(struct answer_reader *reader, struct symbols_debug *ret)
{
	const char *id, *link, *alt_id, *alt_link;
	size_t link_len, alt_link_len;

	*ret = (struct symbols_debug){ 0 };
	if (get_text(&reader->in, sizeof(ret->build_id), &id, &ret->build_id_len) ||
	    get_text(&reader->in, sizeof(ret->link) - 1, &link, &link_len))
		return -EBADMSG;
	memcpy(ret->build_id, id, ret->build_id_len);
	memcpy(ret->link, link, link_len);
	ret->link_crc = (uint32_t)cursor_varint(&reader->in);
	ret->wanted = cursor_varint(&reader->in);
	if (get_text(&reader->in, sizeof(ret->alt_id), &alt_id, &ret->alt_id_len) ||
	    get_text(&reader->in, sizeof(ret->alt_link) - 1, &alt_link, &alt_link_len))
		return -EBADMSG;
	memcpy(ret->alt_id, alt_id, ret->alt_id_len);
	memcpy(ret->alt_link, alt_link, alt_link_len);
	return reader->in.bad ? -EBADMSG : 0;
}

int answer_read_reason(struct answer_reader *reader, const char **ret, size_t *ret_len)
{
	return get_text(&reader->in, 256, ret, ret_len);
}

static int keep_string(struct answer_reader *reader, const char *text, size_t len)
{
	if (reader->len == reader->cap) {
		size_t cap = reader->cap ? reader->cap * 2 : 64;
		const char **strings = reallocarray(reader->strings, cap, sizeof(*strings));
		size_t *lens;

		if (!strings)
			return -ENOMEM;
		reader->strings = strings;
		lens = reallocarray(reader->lens, cap, sizeof(*lens));
		if (!lens)
			return -ENOMEM;
		reader->lens = lens;
		reader->cap = cap;
	}
	reader->strings[reader->len] = text;
	reader->lens[reader->len++] = len;
	return 0;
}

/* Number 0 is the empty string, as in the writer's table. */
static int get_string(struct answer_reader *reader, const char **ret, size_t *ret_len)
{
	uint64_t number = cursor_varint(&reader->in);
	int err;

	if (reader->in.bad || number > reader->len + 1)
		return -EBADMSG;
	if (number == reader->len + 1) {
		err = get_text(&reader->in, ANSWER_NAME_MAX, ret, ret_len);
		err = err ? err : keep_string(reader, *ret, *ret_len);
		if (err)
			return err;
	}
	*ret = number ? reader->strings[number - 1] : "";
	*ret_len = number ? reader->lens[number - 1] : 0;
	return 0;
}

int answer_read_frames(struct answer_reader *reader, struct answer_frame *list, size_t max, size_t *ret_len)
{
	uint64_t count = cursor_varint(&reader->in), line;

	if (reader->in.bad || count > max)
		return -EBADMSG;
	for (uint64_t i = 0; i < count; i++) {
		int err = get_string(reader, &list[i].name, &list[i].name_len);

		list[i].start = cursor_varint(&reader->in);
		line = cursor_varint(&reader->in);
		list[i].inlined = line & 1;
		list[i].line = (uint32_t)(line >> 1);
		err = err ? err : get_string(reader, &list[i].source, &list[i].source_len);
		if (err)
			return err;
	}
	*ret_len = count;
	return 0;
}
