/* SPDX-License-Identifier: Apache-2.0 */
/* Readers: bytes from a file become a profile. The bytes may be hostile; what is wrong is said with fail(). */
#ifndef WICK_IN_IN_H
#define WICK_IN_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct profile;
struct source;

/* What is asked of a reader, and what it has to say besides the profile. {0} asks for nothing special. */
struct in_request {
	const char *type; /* which values, where a file has several; NULL: those that the file itself puts first */
	bool salvage;     /* of a file that is cut off or damaged: what stands whole before that place */
	bool both;        /* where each stack has two values, read those before as well */
	struct profile *before; /* out: these, or NULL; the caller frees it */
	struct buf notes;       /* out: one line for people, or empty; the caller frees it */
	uint64_t salvaged;      /* out: whole records of a file that is not, 0 if it is */
};

/* Any format that can be read, known by its content, also packed with gzip, zstd or xz. */
int in_read(struct profile **ret, const void *data, size_t len);
int in_read_bytes(struct profile **ret, const void *data, size_t len, struct in_request *request);
int in_read_fd(struct profile **ret, int fd, struct in_request *request);

/* Formats whose parts refer to each other are read from memory, lines as they come. */
typedef int in_bytes_reader(struct profile **ret, const void *data, size_t len, struct in_request *request);
typedef int in_stream_reader(struct profile **ret, struct source *source, struct in_request *request);

in_bytes_reader in_wick, in_pprof, in_speedscope, in_firefox;
in_stream_reader in_perf, in_bpftrace, in_bcc, in_folded;

/* Whether bytes begin like that format; `len` may be less than the whole. */
typedef bool in_detector(const char *data, size_t len);

in_detector in_is_pprof, in_is_speedscope, in_is_firefox, in_is_perf, in_is_bpftrace, in_is_bcc;

/*
 * For readers, when a record cannot be read: 0 if those before it are to be kept instead, with a note that says so;
 * else `err`. Nothing but damage is forgiven.
 */
int in_salvage(struct in_request *request, int err, uint64_t records);

/* The values that were taken and those that --type would take instead. */
void in_note_types(struct in_request *request, const char *taken, const char *others);

#endif
