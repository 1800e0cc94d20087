/* SPDX-License-Identifier: Apache-2.0 */
/* Where a file of a target comes from: who met it, who pays for it, and who may have written it. */
#ifndef WICK_COLLECT_ORIGIN_H
#define WICK_COLLECT_ORIGIN_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/helpers.h"
#include "collect/opening.h"

struct sampler;
struct symbols_debug;
struct wire_file;

struct origin {
	uint32_t pid;    /* that has it mapped */
	uint32_t mount;  /* its mount name space */
	uint64_t uid;    /* of that process; UINT64_MAX: not known */
	uint64_t user;   /* whose budget it is */
	uint64_t maker;  /* who may have written it; 0: nobody but root */
	uint64_t owner;  /* of the file */
	uint64_t copied; /* bytes, if what was opened is a copy */
	bool plain;      /* where nobody but root can hold it up, as the kernel side says */
	bool trusted;    /* the same of what was opened */
};

struct origin origin_of(const struct wire_file *found);

/* What opening it told. */
void origin_opened(struct origin *origin, const struct opened *opened);

/* Asks for the debug file of the file at `path`, or for what that shares with others. */
int origin_find_debug(const struct origin *origin, struct helpers *helpers, struct sampler *sampler,
		      enum opening_kind kind, const char *path, const struct symbols_debug *debug, helper_done *done,
		      void *arg);

#endif
