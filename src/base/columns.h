/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text in columns of a terminal: how wide it is, and how it is cut so that it fits. The text is what text_escape made:
 * valid UTF-8 without control characters.
 */
#ifndef WICK_BASE_COLUMNS_H
#define WICK_BASE_COLUMNS_H

#include <stddef.h>

struct buf;

size_t columns_of(const char *text, size_t len);

/* Appends the text; if it is wider than `width`, its middle becomes …, inside template arguments where it has some. */
void columns_add(struct buf *out, const char *text, size_t len, size_t width);

/* The same, then spaces up to the width. */
void columns_pad(struct buf *out, const char *text, size_t len, size_t width);

/*
 * Words, broken into lines that end before column `width`. The first begins at column `at`, where the caller is;
 * the others with `indent` spaces. A word that fits in no line is cut.
 */
void columns_wrap(struct buf *out, const char *text, size_t at, size_t width, size_t indent);

#endif
