/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells formats apart by how they begin, inside whatever they are packed with. Folded stacks have no mark of their own:
 * they are what is left, so what is surely something else is named first, with what to do about it.
 */
#include "in/in.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fail.h"
#include "in/source.h"
#include "profile/wick_format.h"

#define PEEK_LEN (64u << 10)

/* Known, and not read. */
static const struct {
	const char *begin;
	size_t len;
	const char *what, *hint;
} others[] = {
	{ "\x1f\x8b", 2, "it is packed with gzip, twice", "unpack it first, as with zcat" },
	{ "\x28\xb5\x2f\xfd", 4, "it is packed with zstd, twice", "unpack it first, as with zstdcat" },
	{ "\xfd\x37zXZ", 5, "it is packed with xz, twice", "unpack it first, as with xzcat" },
	{ "PK\x03\x04", 4, "it is a zip archive", "unpack it first, as with unzip" },
	{ "PERFILE2", 8, "it is perf's data", "perf script makes text of it, which is read" },
	{ "\x7f"
	  "ELF",
	  4, "it is a program", "wick-convert(1) names what is read" },
};

/* One byte of it is enough: a .wick file that was damaged should be called that. */
static bool is_wick(const char *data, size_t len)
{
	return len && data[0] == WICK_MAGIC[0];
}

static const struct format {
	in_detector *is;
	in_bytes_reader *bytes;
	in_stream_reader *stream;
} formats[] = {
	{ .is = is_wick, .bytes = in_wick },
	{ .is = in_is_bpftrace, .stream = in_bpftrace },
	{ .is = in_is_speedscope, .bytes = in_speedscope },
	{ .is = in_is_firefox, .bytes = in_firefox },
	{ .is = in_is_bcc, .stream = in_bcc },
	{ .is = in_is_perf, .stream = in_perf },
	{ .is = in_is_pprof, .bytes = in_pprof },
	{ .stream = in_folded },
};

int in_salvage(struct in_request *request, int err, uint64_t records)
{
	if (!request->salvage || !records || (err != -EINVAL && err != -EFBIG))
		return err;
	buf_clear(&request->notes);
	buf_addf(&request->notes, "%llu record%s kept, the rest is left out: %s", (unsigned long long)records,
		 records == 1 ? "" : "s", fail_text());
	request->salvaged = records;
	return buf_error(&request->notes);
}

void in_note_types(struct in_request *request, const char *taken, const char *others_there)
{
	buf_clear(&request->notes);
	buf_addf(&request->notes, "values are %s; --type reads others: %s", taken, others_there);
}

static int refuse_others(struct span begin)
{
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (begin.len >= others[i].len && !memcmp(begin.data, others[i].begin, others[i].len)) {
			fail_plain(-EINVAL, "not a profile that can be read: %s", others[i].what);
			return fail_hint(-EINVAL, "%s", others[i].hint);
		}
	return 0;
}

static int read_all(const struct format *format, struct profile **ret, struct source *source,
		    struct in_request *request)
{
	struct span all;
	int err = source_all(source, false, &all), got;
	autofree char *why = err ? strdup(fail_text()) : NULL;

	if (err && (!request->salvage || !all.len))
		return err;
	got = format->bytes(ret, all.data, all.len, request);
	if (!got && err && !request->salvaged) /* all of it, and yet it is cut off */
		buf_addf(&request->notes, "it is cut off: %s", why ? why : "");
	return got;
}

static int read_source(struct profile **ret, struct source *source, struct in_request *request)
{
	struct span begin = source_peek(source, PEEK_LEN);
	const struct format *format = formats;
	int err;

	if (!begin.len) { /* or it could not be read at all */
		err = source_all(source, false, &begin);
		return err ? err : fail_plain(-EINVAL, "the profile is empty: there is nothing to read");
	}
	err = refuse_others(begin);
	if (err)
		return err;
	while (format->is && !format->is(begin.data, begin.len))
		format++;
	return format->stream ? format->stream(ret, source, request) : read_all(format, ret, source, request);
}

int in_read_fd(struct profile **ret, int fd, struct in_request *request)
{
	struct source *source = NULL;
	int err = source_open_fd(&source, fd);

	err = err ? err : read_source(ret, source, request);
	source_free(source);
	return err;
}

int in_read_bytes(struct profile **ret, const void *data, size_t len, struct in_request *request)
{
	struct source *source = NULL;
	int err = source_open_bytes(&source, data, len);

	err = err ? err : read_source(ret, source, request);
	source_free(source);
	return err;
}

int in_read(struct profile **ret, const void *data, size_t len)
{
	struct in_request request = { 0 };
	int err = in_read_bytes(ret, data, len, &request);

	buf_free(&request.notes);
	return err;
}
