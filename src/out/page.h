/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page in which a profile is explored: what src/web is given to read. docs/format-page.md says what is where; the
 * block is the same whether it stands in a saved file or is sent by a server.
 */
#ifndef WICK_OUT_PAGE_H
#define WICK_OUT_PAGE_H

#include <stddef.h>

struct buf;
struct profile;

/* What a page shows. */
struct page {
	const struct profile *profile;
	const struct profile *before; /* to compare with; NULL: nothing */
	const char *names[2];         /* what before and profile are called; NULL: not known */
};

/* The block, packed with gzip. */
int page_data(const struct page *page, struct buf *out);
/* A file with the page, the block and nothing to be fetched. */
int page_html(const struct page *page, struct buf *out);
/* The page with the block, for a server that has style and script at these paths. */
int page_shell(const struct page *page, const char *style_path, const char *script_path, struct buf *out);
const char *page_style(void);
const char *page_script(void);

#endif
