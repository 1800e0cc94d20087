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
/*
 * The page for a server that has style and script at these paths. It has no block: its script asks for what is shown.
 * `source`: words for what can be asked, "live", "times", "gaps".
 */
void page_shell(const char *style_path, const char *script_path, const char *source, struct buf *out);
const char *page_style(void);
const char *page_script(void);
const char *page_server_style(void); /* what a server's page has behind these */
const char *page_server_script(void);

#endif
