/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packing, for formats that are gzip: of bytes in memory, of any length. In: the bytes, how hard to try (a level of
 * zlib's). Out: one member of gzip, without a name or a time in it, so that the same bytes give the same.
 */
#include "out/gzip.h"

#include <errno.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/fail.h"

#define GZIP 16 /* added to the window: gzip's head and foot, not zlib's */
#define MEMORY 9
#define MOST_AT_ONCE (1U << 30)

int gzip_add(struct buf *out, const struct buf *raw, int level)
{
	z_stream stream = { 0 };
	unsigned char chunk[65536];
	size_t given = 0;
	int status = deflateInit2(&stream, level, Z_DEFLATED, MAX_WBITS + GZIP, MEMORY, Z_DEFAULT_STRATEGY);

	if (status != Z_OK)
		return fail_plain(-ENOMEM, "packing with gzip: no memory");
	while (status == Z_OK) {
		if (!stream.avail_in && given < raw->len) {
			stream.avail_in = raw->len - given < MOST_AT_ONCE ? (uInt)(raw->len - given) : MOST_AT_ONCE;
			stream.next_in = (Bytef *)raw->data + given;
			given += stream.avail_in;
		}
		stream.next_out = chunk;
		stream.avail_out = sizeof(chunk);
		status = deflate(&stream, given == raw->len ? Z_FINISH : Z_NO_FLUSH);
		buf_add(out, chunk, sizeof(chunk) - stream.avail_out);
	}
	deflateEnd(&stream);
	return status == Z_STREAM_END ? buf_error(out) : fail_plain(-EIO, "packing with gzip failed");
}
