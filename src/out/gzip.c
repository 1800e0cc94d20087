/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packing, for formats that are gzip: of bytes in memory, of any length, at once or as they come. In: the bytes, how
 * hard to try (a level of zlib's). Out: one member of gzip, without a name or a time in it, so that the same bytes give
 * the same.
 */
#include "out/gzip.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/fail.h"

#define GZIP 16 /* added to the window: gzip's head and foot, not zlib's */
#define MEMORY 9
#define MOST_AT_ONCE (1U << 30)

struct gzip {
	z_stream stream;
	struct buf *out;
};

int gzip_begin(struct gzip **ret, struct buf *out, int level)
{
	struct gzip *gzip = calloc(1, sizeof(*gzip));
	int status = Z_MEM_ERROR;

	if (gzip)
		status = deflateInit2(&gzip->stream, level, Z_DEFLATED, MAX_WBITS + GZIP, MEMORY, Z_DEFAULT_STRATEGY);
	if (status != Z_OK) {
		free(gzip);
		return fail_plain(-ENOMEM, "packing with gzip: no memory");
	}
	gzip->out = out;
	*ret = gzip;
	return 0;
}

/* Until all that was given is taken, or (Z_FINISH) until all is out. */
static int pack(struct gzip *gzip, int flush)
{
	z_stream *stream = &gzip->stream;
	unsigned char chunk[65536];
	int status;

	do {
		stream->next_out = chunk;
		stream->avail_out = sizeof(chunk);
		status = deflate(stream, flush);
		buf_add(gzip->out, chunk, sizeof(chunk) - stream->avail_out);
	} while (status == Z_OK && !stream->avail_out);
	if (flush == Z_FINISH ? status != Z_STREAM_END : status == Z_STREAM_ERROR)
		return fail_plain(-EIO, "packing with gzip failed");
	return buf_error(gzip->out);
}

int gzip_more(struct gzip *gzip, const struct buf *raw)
{
	int err = 0;

	for (size_t given = 0; given < raw->len && !err; given += MOST_AT_ONCE) {
		gzip->stream.next_in = (Bytef *)raw->data + given;
		gzip->stream.avail_in = raw->len - given < MOST_AT_ONCE ? (uInt)(raw->len - given) : MOST_AT_ONCE;
		err = pack(gzip, Z_NO_FLUSH);
	}
	return err;
}

int gzip_end(struct gzip *gzip)
{
	return pack(gzip, Z_FINISH);
}

void gzip_free(struct gzip *gzip)
{
	if (!gzip)
		return;
	deflateEnd(&gzip->stream);
	free(gzip);
}

int gzip_add(struct buf *out, const struct buf *raw, int level)
{
	struct gzip *gzip = NULL;
	int err = gzip_begin(&gzip, out, level);

	err = err ? err : gzip_more(gzip, raw);
	err = err ? err : gzip_end(gzip);
	gzip_free(gzip);
	return err;
}
