/* SPDX-License-Identifier: Apache-2.0 */
/* Names come from targets and may hold anything. What is shown is valid UTF-8 on one line without control codes. */
#ifndef WICK_BASE_TEXT_H
#define WICK_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

/* Appends the bytes; control characters, invalid UTF-8, bidirectional overrides, any byte of `also` (may be NULL), and
 * a backslash that would look like the beginning of one of those, become \xNN. */
void text_escape(struct buf *out, const char *data, size_t len, const char *also);

/* The length of the valid UTF-8 sequence at the start of `data` (1 to 4) and its code point; 0 if there is none. */
size_t text_utf8(const char *data, size_t len, uint32_t *ret);

/* Does it steer the terminal or the line instead of being shown: C0, DEL, C1, line separators, bidi controls? */
bool text_is_control(uint32_t code);

/* Whole-string numbers: 0, or -EINVAL for anything that is not exactly a number, -ERANGE for one that does not fit. */
int text_u64(const char *text, uint64_t *ret);

/* How much of a label's value people read and write: of a container's id, alone or as UID/ID, its first 12 digits. */
size_t text_label_len(const char *text, size_t len);

/* Appends the digits. */
void text_number(struct buf *out, uint64_t value);

/* Appends with a comma every three digits. */
void text_thousands(struct buf *out, uint64_t value);

#endif
