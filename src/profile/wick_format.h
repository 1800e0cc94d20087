/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the writer and the reader of .wick files must agree on, written once. docs/format-wick.md explains it; a change
 * of what is here is a new WICK_FORMAT.
 */
#ifndef WICK_PROFILE_WICK_FORMAT_H
#define WICK_PROFILE_WICK_FORMAT_H

#include <stdint.h>

/* A byte above 127, CR LF and ^Z: transfer as text damages at least one of them. */
#define WICK_MAGIC "\x8dWICK\r\n\x1a"
#define WICK_MAGIC_LEN 8
#define WICK_FORMAT 1

/* Before each section: tag, u32 flags, u32 compression, u32 zero, u64 stored, u64 raw; then u64 sum. */
#define WICK_TAG_LEN 4
#define WICK_SUMMED_LEN 32
#define WICK_HEADER_LEN 40

#define WICK_CRITICAL 1u /* flag: who does not know this section must not go on without it */

#define WICK_PLAIN 0u
#define WICK_ZSTD 1u

/* What a reader unpacks at most: a small file must not ask for a big machine. The writer keeps to it. */
#define WICK_RAW_MAX (1ULL << 30)
#define WICK_RATIO_MAX 128
#define WICK_RATIO_FREE 4096

/*
 * The tables in the order of the file: what a record refers to comes before it.
 * TABLE(tag, table, name of its record, least bytes of one)
 */
#define WICK_TABLES(TABLE)                           \
	TABLE("STRS", PROFILE_STRINGS, string, 1)    \
	TABLE("FILE", PROFILE_FILES, file, 8)        \
	TABLE("PROC", PROFILE_PROCESSES, process, 6) \
	TABLE("FRAM", PROFILE_FRAMES, frame, 5)      \
	TABLE("NODE", PROFILE_NODES, node, 2)        \
	TABLE("LABL", PROFILE_LABELS, label, 3)      \
	TABLE("SAMP", PROFILE_SAMPLES, sample, 6)    \
	TABLE("EVNT", PROFILE_EVENTS, event, 3)      \
	TABLE("CNTR", PROFILE_COUNTERS, counter, 3)

#define WICK_SOURCES "LINE" /* before FRAM, which it adds to. Not critical: only profiles of other tools have it */
#define WICK_SOURCES_LEAST 6
#define WICK_NUMBERS "NUML" /* before LABL, which it adds to; as LINE otherwise */
#define WICK_META "META"
#define WICK_TYPES "TYPE" /* not critical: only profiles of other tools count several things */
#define WICK_WAYS "WAYS"  /* not critical: files without it are older, and whoever does not know it goes on */
#define WICK_WAYS_LEAST 4
#define WICK_END "END "

/* The fields of META. New ones go to the end: a reader takes those it knows. */
#define WICK_META_NUMBERS(FIELD) \
	FIELD(hz)                \
	FIELD(period)            \
	FIELD(start_us)          \
	FIELD(wall_ns)           \
	FIELD(duration_ns)       \
	FIELD(cpus)              \
	FIELD(expected)          \
	FIELD(kernel_base)       \
	FIELD(busy_user_us)      \
	FIELD(busy_kernel_us)    \
	FIELD(idle_us)

#define WICK_META_STRINGS_LEAST 8 /* those behind are written only up to the last that says something */
#define WICK_META_STRINGS(FIELD) \
	FIELD(event)             \
	FIELD(unit)              \
	FIELD(host)              \
	FIELD(kernel)            \
	FIELD(kernel_build_id)   \
	FIELD(arch)              \
	FIELD(version)           \
	FIELD(command)           \
	FIELD(remarks)           \
	FIELD(drop_frames)       \
	FIELD(keep_frames)       \
	FIELD(default_type)      \
	FIELD(period_type)       \
	FIELD(period_unit)       \
	FIELD(doc_url)

/*
 * Over the header as well, so that a damaged tag or length is not taken for an unknown section. Who reads or writes
 * brings xxhash.h: the model does without libraries.
 */
#define WICK_SUM(header, stored, len) XXH64(stored, len, XXH64(header, WICK_SUMMED_LEN, 0))

/* Small differences of either sign become small numbers. */
static inline uint64_t wick_zigzag(uint64_t value, uint64_t previous)
{
	uint64_t delta = value - previous;

	return delta << 1 ^ (delta >> 63 ? UINT64_MAX : 0);
}

static inline uint64_t wick_unzigzag(uint64_t coded, uint64_t previous)
{
	return previous + (coded >> 1 ^ (coded & 1 ? UINT64_MAX : 0));
}

#endif
