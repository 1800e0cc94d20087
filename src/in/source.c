/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window over the bytes of a file. In: a descriptor or memory, packed or not, from anybody. Out: lines, or all bytes.
 *
 * What is packed is unpacked piece by piece and only as far as somebody asks, so memory is bounded whatever the file
 * claims. A file that unpacks to very much more than it has is refused: nobody packs a profile that well.
 * Invariant: [at, end) is what was unpacked and not taken yet; it moves only in fill().
 */
#include "in/source.h"

#include <errno.h>
#include <lzma.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/fail.h"

#define PACKED_SIZE (64u << 10)
#define WINDOW_SIZE (256u << 10)
#define LINE_MAX_LEN ((size_t)1 << 20)
#define ALL_MAX ((size_t)2 << 30)
/* What unpacks to so many times its size, from so many bytes on, is no profile. In memory there is less room. */
#define RATIO_MAX 1000
#define RATIO_FREE ((uint64_t)256 << 20)
#define ALL_RATIO_MAX 200
#define ALL_RATIO_FREE ((uint64_t)64 << 20)
#define ALL_LINE_MAX ((size_t)16 << 20)
#define XZ_MEMORY ((uint64_t)256 << 20)

enum packing { PLAIN, GZIP, ZSTD, XZ };

static const struct {
	const char *name, *magic;
	size_t magic_len;
} packings[] = {
	[PLAIN] = { NULL, "", 0 },
	[GZIP] = { "gzip", "\x1f\x8b", 2 },
	[ZSTD] = { "zstd", "\x28\xb5\x2f\xfd", 4 },
	[XZ] = { "xz", "\xfd\x37zXZ", 6 }, /* with the NUL */
};

struct source {
	int fd; /* -1: memory */
	int err;
	bool ended;    /* no more bytes will come */
	bool fd_ended; /* of the packed ones */
	enum packing packing;
	bool inside; /* a packed stream has begun and not ended */
	bool whole;  /* all of it is wanted in memory */
	const char *at, *end;
	char *window;
	size_t window_cap;
	size_t lines;
	uint64_t unpacked, taken; /* bytes in all */
	uint64_t size;            /* of a regular file, else 0 */
	off_t start;              /* in the descriptor */
	const char *kept;         /* where all of it begins in memory, once it is there */
	unsigned char *packed;
	const unsigned char *packed_at;
	size_t packed_len;
	z_stream gzip;
	ZSTD_DStream *zstd;
	lzma_stream xz;
};

/* What a step of unpacking came to: bytes out, or an errno. */
typedef ssize_t unpack_step(struct source *source, char *to, size_t room);

static int damaged(const struct source *source, const char *what)
{
	return fail_plain(-EINVAL, "byte %llu: %s: it was packed with %s",
			  (unsigned long long)(source->taken - source->packed_len), what,
			  packings[source->packing].name);
}

static int cut_short(const struct source *source)
{
	return damaged(source, "cut short, the end of the file is missing");
}

static ssize_t read_fd(int fd, void *to, size_t room)
{
	ssize_t got;

	do
		got = read(fd, to, room);
	while (got < 0 && errno == EINTR);
	return got < 0 ? fail_plain(-errno, "%s", strerror(errno)) : got;
}

/* Packed bytes, if all that there were are used up. */
static int refill(struct source *source)
{
	ssize_t got;

	if (source->packed_len || source->fd_ended)
		return 0;
	got = read_fd(source->fd, source->packed, PACKED_SIZE);
	if (got < 0)
		return (int)got;
	source->fd_ended = got == 0;
	source->packed_at = source->packed;
	source->packed_len = (size_t)got;
	source->taken += (uint64_t)got;
	return 0;
}

static void use_packed(struct source *source, size_t left)
{
	source->packed_at += source->packed_len - left;
	source->packed_len = left;
}

/* Streams may follow each other; whatever else follows one is damage. */
static int begin_stream(struct source *source)
{
	const char *magic = packings[source->packing].magic;

	if (source->packed_at[0] != (unsigned char)magic[0])
		return damaged(source, "something else follows");
	if (source->packing == GZIP && source->gzip.state)
		inflateReset(&source->gzip);
	source->inside = true;
	return 0;
}

static ssize_t step_gzip(struct source *source, char *to, size_t room)
{
	z_stream *gzip = &source->gzip;
	int status;

	gzip->next_in = (unsigned char *)source->packed_at;
	gzip->avail_in = source->packed_len < UINT32_MAX ? (unsigned)source->packed_len : UINT32_MAX;
	gzip->next_out = (unsigned char *)to;
	gzip->avail_out = (unsigned)room;
	status = inflate(gzip, Z_NO_FLUSH);
	use_packed(source, source->packed_len - (size_t)(gzip->next_in - source->packed_at));
	if (status == Z_MEM_ERROR)
		return fail(-ENOMEM, "unpacking");
	if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
		return damaged(source, "damaged");
	source->inside = status != Z_STREAM_END;
	return (ssize_t)(room - gzip->avail_out);
}

static ssize_t step_zstd(struct source *source, char *to, size_t room)
{
	ZSTD_inBuffer in = { source->packed_at, source->packed_len, 0 };
	ZSTD_outBuffer out = { to, room, 0 };
	size_t status = ZSTD_decompressStream(source->zstd, &out, &in);

	use_packed(source, in.size - in.pos);
	if (ZSTD_isError(status))
		return damaged(source, "damaged");
	source->inside = status != 0;
	return (ssize_t)out.pos;
}

static ssize_t step_xz(struct source *source, char *to, size_t room)
{
	lzma_stream *xz = &source->xz;
	lzma_ret status;

	xz->next_in = source->packed_at;
	xz->avail_in = source->packed_len;
	xz->next_out = (uint8_t *)to;
	xz->avail_out = room;
	status = lzma_code(xz, source->fd_ended ? LZMA_FINISH : LZMA_RUN);
	use_packed(source, xz->avail_in);
	if (status == LZMA_MEMLIMIT_ERROR || status == LZMA_MEM_ERROR)
		return fail_plain(-ENOMEM, "unpacking it takes more than 256 MiB: unpack it first, as with xzcat");
	if (status != LZMA_OK && status != LZMA_STREAM_END && status != LZMA_BUF_ERROR)
		return damaged(source, "damaged");
	source->inside = status != LZMA_STREAM_END;
	return (ssize_t)(room - xz->avail_out);
}

static unpack_step *const steps[] = { [GZIP] = step_gzip, [ZSTD] = step_zstd, [XZ] = step_xz };

static ssize_t unpack(struct source *source, char *to, size_t room)
{
	for (;;) {
		ssize_t got;
		int err = refill(source);

		if (!err && !source->packed_len && !source->inside)
			return 0; /* the end, between two streams */
		if (!err && !source->inside)
			err = begin_stream(source);
		if (err)
			return err;
		got = steps[source->packing](source, to, room);
		if (got == 0 && source->inside && !source->packed_len && source->fd_ended)
			return cut_short(source);
		if (got != 0)
			return got;
	}
}

static ssize_t more(struct source *source, char *to, size_t room)
{
	ssize_t got;

	if (source->packing == PLAIN) {
		got = read_fd(source->fd, to, room);
		source->taken += got > 0 ? (uint64_t)got : 0;
		return got;
	}
	got = unpack(source, to, room);
	if (got <= 0)
		return got;
	source->unpacked += (uint64_t)got;
	if (source->unpacked > (source->whole ? ALL_RATIO_FREE : RATIO_FREE) &&
	    source->unpacked / (source->whole ? ALL_RATIO_MAX : RATIO_MAX) > source->taken)
		return fail_plain(-EFBIG,
				  "%llu bytes unpack to more than %llu: no profile does, it is not read further",
				  (unsigned long long)source->taken, (unsigned long long)source->unpacked);
	return got;
}

/* At least one more byte behind `end`, or it has ended, or the error that it keeps having. */
static int fill(struct source *source)
{
	size_t kept = (size_t)(source->end - source->at);
	ssize_t got;

	if (source->err || source->ended)
		return source->err;
	if (kept && source->at != source->window)
		memmove(source->window, source->at, kept);
	if (kept == source->window_cap) {
		size_t cap = source->window_cap * 2;
		char *grown = cap <= ALL_MAX ? realloc(source->window, cap) : NULL;

		source->at = source->window;
		if (!grown)
			return source->err = fail(cap <= ALL_MAX ? -ENOMEM : -EFBIG, "reading it into memory");
		source->window = grown;
		source->window_cap = cap;
	}
	source->at = source->window;
	source->end = source->window + kept;
	got = more(source, source->window + kept, source->window_cap - kept);
	if (got < 0)
		return source->err = (int)got;
	source->ended = got == 0;
	source->end += got;
	return 0;
}

static int start_unpacking(struct source *source)
{
	switch (source->packing) {
	case GZIP:
		return inflateInit2(&source->gzip, 15 + 16) == Z_OK ? 0 : -ENOMEM;
	case ZSTD:
		source->zstd = ZSTD_createDStream();
		return source->zstd ? 0 : -ENOMEM;
	case XZ:
		return lzma_stream_decoder(&source->xz, XZ_MEMORY, LZMA_CONCATENATED) == LZMA_OK ? 0 : -ENOMEM;
	default:
		return 0;
	}
}

static enum packing packing_of(const void *data, size_t len)
{
	for (int i = GZIP; i <= XZ; i++)
		if (len >= packings[i].magic_len && !memcmp(data, packings[i].magic, packings[i].magic_len))
			return (enum packing)i;
	return PLAIN;
}

static int start(struct source *source)
{
	source->packing = packing_of(source->packed_at, source->packed_len);
	if (source->packing == PLAIN && source->fd < 0) {
		source->at = (const char *)source->packed_at;
		source->end = source->at + source->packed_len;
		source->ended = true;
		return 0;
	}
	source->window_cap = WINDOW_SIZE;
	source->window = malloc(source->window_cap);
	if (!source->window)
		return -ENOMEM;
	source->at = source->end = source->window;
	if (source->packing == PLAIN) {
		memcpy(source->window, source->packed_at, source->packed_len);
		source->end += source->packed_len;
	}
	return start_unpacking(source);
}

static int open_source(struct source **ret, struct source *source, int err)
{
	err = err ? err : start(source);
	if (err) {
		source_free(source);
		return err == -ENOMEM ? fail(err, "reading") : err;
	}
	*ret = source;
	return 0;
}

int source_open_bytes(struct source **ret, const void *data, size_t len)
{
	struct source *source = calloc(1, sizeof(*source));

	if (!source)
		return fail(-ENOMEM, "reading");
	source->fd = -1;
	source->fd_ended = true;
	source->packed_at = len ? data : (const void *)"";
	source->packed_len = len;
	source->taken = len;
	return open_source(ret, source, 0);
}

int source_open_fd(struct source **ret, int fd)
{
	struct source *source = calloc(1, sizeof(*source));
	struct stat stat;
	int err = 0;

	if (!source)
		return fail(-ENOMEM, "reading");
	source->fd = fd;
	source->packed = malloc(PACKED_SIZE);
	if (!source->packed)
		err = -ENOMEM;
	/* Enough to know how it is packed, even from a pipe that gives a byte at a time. */
	while (!err && !source->fd_ended && source->packed_len < 8) {
		ssize_t got = read_fd(fd, source->packed + source->packed_len, PACKED_SIZE - source->packed_len);

		err = got < 0 ? (int)got : 0;
		source->fd_ended = got == 0;
		source->packed_len += got > 0 ? (size_t)got : 0;
	}
	if (!fstat(fd, &stat) && S_ISREG(stat.st_mode))
		source->size = (uint64_t)stat.st_size;
	source->start = lseek(fd, 0, SEEK_CUR);
	if (source->start >= 0)
		source->start -= (off_t)source->packed_len; /* which was read just now */
	source->packed_at = source->packed;
	source->taken = source->packed_len;
	return open_source(ret, source, err);
}

void source_free(struct source *source)
{
	if (!source)
		return;
	inflateEnd(&source->gzip);
	ZSTD_freeDStream(source->zstd);
	lzma_end(&source->xz);
	free(source->packed);
	free(source->window);
	free(source);
}

const char *source_packed(const struct source *source)
{
	return packings[source->packing].name;
}

struct span source_peek(struct source *source, size_t want)
{
	while ((size_t)(source->end - source->at) < want && !source->ended && !source->err)
		fill(source);
	return (struct span){ source->at, (size_t)(source->end - source->at) };
}

int source_error(const struct source *source)
{
	return source->err;
}

/* Up to the first end of a line at hand, or the last; NULL if all that is left is a line without one. */
static int find_end(struct source *source, bool last, const char **ret)
{
	size_t searched = 0;

	for (;;) {
		size_t len = (size_t)(source->end - source->at);
		const char *from = source->at + searched;

		*ret = NULL;
		if (len > searched)
			*ret = last ? memrchr(from, '\n', len - searched) : memchr(from, '\n', len - searched);
		if (*ret || source->ended)
			return 0;
		if (len > (last ? ALL_LINE_MAX : LINE_MAX_LEN))
			return fail_plain(-EFBIG,
					  last ? "line %zu: a line of more than 16 MiB" : "line %zu: longer than 1 MiB",
					  source->lines + 1);
		searched = len;
		if (fill(source))
			return source->err;
	}
}

int source_line(struct source *source, struct span *ret)
{
	const char *end;
	int err = find_end(source, false, &end);

	if (err || source->at == source->end)
		return err;
	source->lines++;
	*ret = (struct span){ source->at, (size_t)((end ? end : source->end) - source->at) };
	source->at += ret->len + (end != NULL);
	if (ret->len && ret->data[ret->len - 1] == '\r')
		ret->len--;
	return 1;
}

int source_lines(struct source *source, size_t before, struct span *ret)
{
	const char *end;
	int err;

	source->lines = before;
	err = find_end(source, true, &end);
	if (err || source->at == source->end)
		return err;
	*ret = (struct span){ source->at, (size_t)((end ? end + 1 : source->end) - source->at) };
	source->at += ret->len;
	return 1;
}

int source_keep(struct source *source)
{
	struct span all;
	int err = 0;

	source->whole = true;
	if (source->fd >= 0 && source->size && source->start >= 0)
		return 0;
	if (source->fd >= 0 || source->packing != PLAIN)
		err = source_all(source, true, &all);
	source->kept = source->at;
	/* What could be read before an error stays, and the error comes behind it. */
	return err && source->at == source->end ? err : 0;
}

/* Packed bytes from the first on. */
static int restart(struct source *source)
{
	if (lseek(source->fd, source->start, SEEK_SET) < 0)
		return fail_plain(-errno, "reading it again: %s", strerror(errno));
	source->err = 0;
	source->ended = source->fd_ended = source->inside = false;
	source->at = source->end = source->window;
	source->packed_len = 0;
	source->taken = source->unpacked = 0;
	if (source->packing == ZSTD)
		ZSTD_DCtx_reset(source->zstd, ZSTD_reset_session_only);
	return source->packing == XZ ? start_unpacking(source) : 0;
}

int source_again(struct source *source)
{
	source->lines = 0;
	if (!source->kept)
		return restart(source);
	source->at = source->kept;
	return 0;
}

double source_share(const struct source *source)
{
	return source->size ? (double)source->taken / (double)source->size : 0;
}

size_t source_line_number(const struct source *source)
{
	return source->lines;
}

/* Until the end. Text is given up as soon as a line is longer than any stack could be. */
static int fill_all(struct source *source, bool text)
{
	size_t line = 0, seen = 0; /* where the last line begins; up to where that is known */

	while (!source->ended && !source->err) {
		size_t len = (size_t)(source->end - source->at);
		const char *newline = text && len > seen ? memrchr(source->at + seen, '\n', len - seen) : NULL;

		line = newline ? (size_t)(newline + 1 - source->at) : line;
		seen = len;
		if (text && len - line > ALL_LINE_MAX)
			return source->err =
				       fail_plain(-EFBIG, "byte %zu: a line of more than 16 MiB begins here", line);
		fill(source);
	}
	return source->err;
}

int source_all(struct source *source, bool text, struct span *ret)
{
	struct stat stat;
	int err;

	source->whole = true;
	/* One large step instead of many doublings, if the size is known. */
	if (source->packing == PLAIN && source->fd >= 0 && !fstat(source->fd, &stat) && S_ISREG(stat.st_mode) &&
	    (size_t)stat.st_size < ALL_MAX && (size_t)stat.st_size >= source->window_cap) {
		size_t kept = (size_t)(source->end - source->at), from = (size_t)(source->at - source->window);
		char *grown = realloc(source->window, (size_t)stat.st_size + 1);

		if (grown) {
			source->window = grown;
			source->window_cap = (size_t)stat.st_size + 1;
			source->at = grown + from;
			source->end = source->at + kept;
		}
	}
	err = fill_all(source, text);
	*ret = (struct span){ source->at, (size_t)(source->end - source->at) };
	return err;
}
