/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of the last error. In: printf formats, whose arguments may hold names from targets and even fail_text()
 * itself. Out: one line of valid UTF-8 in a buffer of the thread. What does not fit ends in an ellipsis, and the words
 * never take the room that the reason and the hint need: a path of 4,096 bytes must not hide why it failed.
 */
#include "base/fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define KEPT_SIZE 1024
#define WORDS_SIZE 768 /* of it for what failed; the rest is for why and what to do */
#define ELLIPSIS "…"
#define ELLIPSIS_LEN (sizeof(ELLIPSIS) - 1)

static _Thread_local char kept[KEPT_SIZE];

/* Writes `words` at kept[at], its end and NUL before kept[end]. Never cuts a sequence or an escape in two. */
static size_t keep(size_t at, size_t end, const char *words)
{
	size_t len = strlen(words);
	size_t mark = at; /* the last place where an ellipsis still fits */

	if (at + ELLIPSIS_LEN >= end)
		return at;
	for (size_t i = 0; i < len;) {
		char escape[5];
		const char *piece = words + i;
		uint32_t code = 0;
		size_t step = text_utf8(piece, len - i, &code);
		size_t size = step;

		if (!step || text_is_control(code)) {
			snprintf(escape, sizeof(escape), "\\x%02x", (unsigned char)words[i]);
			piece = escape;
			size = 4;
			step = 1;
		}
		if (at + size >= end) {
			memcpy(kept + mark, ELLIPSIS, ELLIPSIS_LEN);
			at = mark + ELLIPSIS_LEN;
			break;
		}
		memcpy(kept + at, piece, size);
		at += size;
		i += step;
		if (at + ELLIPSIS_LEN < end)
			mark = at;
	}
	kept[at] = '\0';
	return at;
}

/* Formats aside first, because the arguments may point into what is kept. */
static size_t __attribute__((format(printf, 4, 0)))
keep_format(size_t at, size_t end, const char *before, const char *format, va_list args)
{
	char words[KEPT_SIZE + 1];

	if (vsnprintf(words, sizeof(words), format, args) < 0)
		words[0] = '\0';
	return keep(keep(at, end, before), end, words);
}

int fail(int err, const char *format, ...)
{
	va_list args;
	size_t at;

	va_start(args, format);
	at = keep_format(0, WORDS_SIZE, "", format, args);
	va_end(args);
	at = keep(at, KEPT_SIZE, ": ");
	keep(at, KEPT_SIZE, strerror(err < 0 ? -err : err));
	return err;
}

int fail_plain(int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	keep_format(0, WORDS_SIZE, "", format, args);
	va_end(args);
	return err;
}

int fail_hint(int err, const char *format, ...)
{
	size_t at = strlen(kept);
	va_list args;

	va_start(args, format);
	keep_format(at, KEPT_SIZE, at ? ": " : "", format, args);
	va_end(args);
	return err;
}

const char *fail_text(void)
{
	return kept;
}
