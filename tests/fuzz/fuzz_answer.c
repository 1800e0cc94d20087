/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of the worker, which may have been taken over by a file: every text that is read out of one is inside it. */
#include "worker/protocol.h"

#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX 64
#define ADDRESSES_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_text(const char *text, size_t len, const uint8_t *data, size_t size)
{
	const uint8_t *at = (const uint8_t *)text;

	require(!len || (at >= data && len <= size && at <= data + (size - len)));
}

static void read_names(struct answer_reader *reader, const uint8_t *data, size_t size)
{
	struct answer_frame list[FRAMES_MAX];
	const char *reason;
	size_t len;

	if (answer_read_reason(reader, &reason, &len))
		return;
	check_text(reason, len, data, size);
	for (int i = 0; i < ADDRESSES_MAX && !answer_read_frames(reader, list, FRAMES_MAX, &len); i++) {
		require(len <= FRAMES_MAX);
		for (size_t j = 0; j < len; j++) {
			check_text(list[j].name, list[j].name_len, data, size);
			check_text(list[j].source, list[j].source_len, data, size);
		}
	}
}

static void read_others(struct answer_reader *reader, enum answer_kind kind, const uint8_t *data, size_t size)
{
	struct symbols_debug debug;
	const char *reason;
	const void *id;
	size_t len, reason_len;

	if (kind == ANSWER_IDENTITY && !answer_read_identity(reader, &id, &len, &reason, &reason_len)) {
		require(len <= SYMBOLS_BUILD_ID_MAX);
		check_text(id, len, data, size);
		check_text(reason, reason_len, data, size);
	}
	if (kind == ANSWER_WANTS_DEBUG && !answer_read_debug(reader, &debug))
		require(debug.build_id_len <= sizeof(debug.build_id) && memchr(debug.link, 0, sizeof(debug.link)));
}

/* A question has the same shape, and is read by the worker. */
static void read_question(const uint8_t *data, size_t size)
{
	uint64_t *addresses = NULL;
	struct ask ask;

	if (ask_read(data, size, &ask, &addresses))
		return;
	require(ask.addresses_len <= size);
	check_text(ask.file, ask.file_len, data, size);
	free(addresses);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct answer_reader reader;
	enum answer_kind kind;

	if (!answer_open(&reader, data, size, &kind)) {
		if (kind == ANSWER_NAMES)
			read_names(&reader, data, size);
		else
			read_others(&reader, kind, data, size);
		answer_close(&reader);
	}
	read_question(data, size);
	return 0;
}
