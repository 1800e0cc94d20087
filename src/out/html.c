/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page as one file: src/web, compiled in, and the profile's data behind it. In: what page.h is given. Out: HTML
 * that asks for nothing: its Content-Security-Policy allows one script and one style, by their hashes. All that comes
 * from a profile is inside the packed block, in base64, where nothing can be markup.
 */
#include "out/page.h"

#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/sha256.h"
#include "out/out.h"

#define START "startSaved();\n" /* what a file's script ends with; a server's has a beginning of its own */

static const char style[] =
#include "web/page.css.inc"
	;
static const char script[] =
#include "web/page.js.inc"
	;
static const char server_style[] =
#include "web/serve.css.inc"
	;
static const char server_script[] =
#include "web/server.js.inc"
	;
static const char body[] =
#include "web/page.html.inc"
	;

static void add_base64(struct buf *out, const void *data, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *in = data;
	char *to = buf_space(out, (len + 2) / 3 * 4);

	for (size_t i = 0; to && i < len; i += 3) {
		uint32_t word = (uint32_t)in[i] << 16;

		word |= i + 1 < len ? (uint32_t)in[i + 1] << 8 : 0;
		word |= i + 2 < len ? in[i + 2] : 0;
		*to++ = digits[word >> 18];
		*to++ = digits[word >> 12 & 63];
		*to++ = i + 1 < len ? digits[word >> 6 & 63] : '=';
		*to++ = i + 2 < len ? digits[word & 63] : '=';
	}
}

static void add_hash(struct buf *out, const char *text, size_t len)
{
	unsigned char hash[SHA256_LEN];

	sha256(text, len, hash);
	buf_adds(out, "'sha256-");
	add_base64(out, hash, sizeof(hash));
	buf_adds(out, "'");
}

int page_html(const struct page *page, struct buf *out)
{
	autobuf struct buf data = { 0 }, run = { 0 };
	int err = page_data(page, &data);

	buf_adds(&run, script);
	buf_adds(&run, START);
	err = err ? err : buf_error(&run);
	if (err)
		return err;
	buf_adds(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src ");
	add_hash(out, run.data, run.len);
	buf_adds(out, "; style-src ");
	add_hash(out, style, strlen(style));
	buf_adds(out, "; base-uri 'none'; form-action 'none'\">\n"
		      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		      "<meta name=\"referrer\" content=\"no-referrer\">\n<title>wick</title>\n<style>");
	buf_adds(out, style);
	buf_adds(out, "</style>\n</head>\n");
	buf_adds(out, body);
	buf_adds(out, "<script type=\"application/wick\" id=\"data\">");
	add_base64(out, data.data, data.len);
	buf_adds(out, "</script>\n<script type=\"module\">");
	buf_add(out, run.data, run.len);
	buf_adds(out, "</script>\n</html>\n");
	return buf_error(out);
}

void page_shell(const char *style_path, const char *script_path, const char *source, struct buf *out)
{
	buf_addf(out, "<!DOCTYPE html>\n<html lang=\"en\" data-source=\"%s\">\n<head>\n<meta charset=\"utf-8\">\n",
		 source);
	buf_adds(out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		      "<link rel=\"icon\" href=\"data:,\">\n<title>wick</title>\n");
	buf_addf(out, "<link rel=\"stylesheet\" href=\"%s\">\n</head>\n", style_path);
	buf_adds(out, body);
	buf_addf(out, "<script type=\"module\" src=\"%s\"></script>\n</html>\n", script_path);
}

const char *page_style(void)
{
	return style;
}

const char *page_script(void)
{
	return script;
}

const char *page_server_style(void)
{
	return server_style;
}

const char *page_server_script(void)
{
	return server_script;
}

int out_html(const struct profile *profile, struct buf *out)
{
	const struct page page = { .profile = profile };

	return page_html(&page, out);
}
