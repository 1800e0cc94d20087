/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of readers: what bytes are read as, in folded stacks, and how bad ones are called. */
#ifndef WICK_TESTS_UNIT_IN_READS_H
#define WICK_TESTS_UNIT_IN_READS_H

#include "in/in.h"

#include "base/fail.h" /* before cmocka, which has a macro of that name */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "out/out.h"
#include "profile/profile.h"

/* Reads bytes as `request` asks; they must be readable. */
static inline struct profile *read_bytes(const void *data, size_t len, struct in_request *request)
{
	struct profile *profile = NULL;

	if (in_read_bytes(&profile, data, len, request))
		fail_msg("not read: %s", fail_text());
	return profile;
}

static inline struct profile *read_text(const char *text)
{
	struct in_request request = { 0 };
	struct profile *profile = read_bytes(text, strlen(text), &request);

	buf_free(&request.notes);
	return profile;
}

/* What was read, as folded stacks; and what was said about it, in which `note` must stand (NULL: nothing). */
static inline void assert_bytes_as(const void *data, size_t len, struct in_request request, const char *folded,
				   const char *note)
{
	struct profile *profile = read_bytes(data, len, &request);
	autobuf struct buf out = { 0 };

	assert_int_equal(out_folded(profile, &out), 0);
	assert_string_equal(out.data ? out.data : "", folded);
	if (!note && request.notes.len)
		fail_msg("said: %s", request.notes.data);
	if (note && (!request.notes.len || !strstr(request.notes.data, note)))
		fail_msg("'%s' is not in: %s", note, request.notes.len ? request.notes.data : "");
	buf_free(&request.notes);
	profile_free(profile);
}

static inline void assert_reads(const char *text, const char *folded)
{
	assert_bytes_as(text, strlen(text), (struct in_request){ 0 }, folded, NULL);
}

static inline void assert_reads_type(const char *text, const char *type, const char *folded, const char *note)
{
	assert_bytes_as(text, strlen(text), (struct in_request){ .type = type }, folded, note);
}

static inline void assert_bytes_refused(const void *data, size_t len, struct in_request request, const char *words)
{
	struct profile *profile = NULL;
	int err = in_read_bytes(&profile, data, len, &request);

	buf_free(&request.notes);
	assert_null(profile);
	assert_true(err == -EINVAL || err == -EFBIG);
	if (!strstr(fail_text(), words))
		fail_msg("'%s' is not in: %s", words, fail_text());
}

static inline void assert_refused(const char *text, const char *words)
{
	assert_bytes_refused(text, strlen(text), (struct in_request){ 0 }, words);
}

/* Refused, but for its whole records with --salvage. */
static inline void assert_salvages(const char *text, const char *words, const char *folded, const char *kept)
{
	assert_refused(text, words);
	assert_bytes_as(text, strlen(text), (struct in_request){ .salvage = true }, folded, kept);
	assert_bytes_as(text, strlen(text), (struct in_request){ .salvage = true }, folded, words);
}

/* The frame of the first sample's stack, so many steps from its leaf. */
static inline const struct profile_frame *frame_at(const struct profile *profile, unsigned up)
{
	uint32_t node = profile_sample(profile, 1)->stack;

	while (up--)
		node = profile_node(profile, node)->parent;
	return profile_frame(profile, profile_node(profile, node)->frame);
}

static inline const char *file_at(const struct profile *profile, unsigned up)
{
	return profile_text(profile, profile_file(profile, frame_at(profile, up)->file)->path, NULL);
}

static inline const char *unit_of(const struct profile *profile)
{
	return profile_text(profile, profile_meta(profile)->unit, NULL);
}

#endif
