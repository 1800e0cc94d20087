/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpacks .gnu_debugdata. In: an image. Out: the bytes of the file inside. Invariant: neither the result nor the
 * decoder's memory grows beyond the bounds below, whatever the packed bytes claim: the room grows with what has really
 * come out, and not out of proportion to what went in.
 */
#include "elf/debugdata.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>

#include "base/budget.h"
#include "elf/image.h"

#define OUTPUT_MAX ((size_t)64 << 20)
#define DECODER_MAX ((uint64_t)80 << 20) /* what xz -9 asks for; pages that it does not touch cost nothing */
#define OUTPUT_FIRST ((size_t)256 << 10)

static int result_of(lzma_ret result)
{
	switch (result) {
	case LZMA_MEM_ERROR:
		return -ENOMEM;
	case LZMA_MEMLIMIT_ERROR:
		return -EFBIG;
	default:
		return -EBADMSG;
	}
}

/* Gives the decoder more room to write to, up to `most`. */
static int grow(lzma_stream *stream, unsigned char **data, size_t *cap, size_t most)
{
	size_t more = *cap ? *cap * 2 : OUTPUT_FIRST;
	unsigned char *grown;

	if (*cap >= most)
		return -EFBIG;
	more = more < most ? more : most;
	grown = realloc(*data, more);
	if (!grown)
		return -ENOMEM;
	stream->next_out = grown + *cap;
	stream->avail_out = more - *cap;
	*data = grown;
	*cap = more;
	return 0;
}

static int unpack(lzma_stream *stream, unsigned char **data)
{
	lzma_ret result = lzma_stream_decoder(stream, DECODER_MAX, 0);
	size_t cap = 0, most = budget_unpack(stream->avail_in, OUTPUT_MAX);

	/* Ends: each round either makes the room larger, to a limit, or has used up room or bytes. */
	while (result == LZMA_OK) {
		int err = stream->avail_out ? 0 : grow(stream, data, &cap, most);

		if (err)
			return err;
		result = lzma_code(stream, LZMA_FINISH);
	}
	return result == LZMA_STREAM_END ? 0 : result_of(result);
}

int debugdata_read(const struct image *image, void **ret, size_t *ret_len)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	struct image_section section;
	unsigned char *data = NULL;
	int err;

	if (!image_section_named(image, ".gnu_debugdata", &section) || section.type == SHT_NOBITS)
		return -ENODATA;
	stream.next_in = image_bytes(image, section.offset, section.size);
	stream.avail_in = section.size;
	if (!stream.next_in)
		return -EBADMSG;
	err = unpack(&stream, &data);
	if (err) {
		free(data);
	} else {
		*ret = data;
		*ret_len = stream.total_out;
	}
	lzma_end(&stream);
	return err;
}
