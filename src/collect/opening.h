/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a helper is asked to open, and what it answers. Both ends are wick itself: a helper reads nothing of what it
 * opens but /proc. The descriptors of the kernel side's program that a file is known by go with each question.
 */
#ifndef WICK_COLLECT_OPENING_H
#define WICK_COLLECT_OPENING_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "sym/symbols.h"

enum opening_kind {
	OPENING_MAPPED = 1, /* the file of a mapping, or at its path */
	OPENING_PROGRAM,    /* of a process */
	OPENING_DEBUG,      /* the split debug file of a file */
	OPENING_ALT,        /* what that shares with others: dwz */
	OPENING_JIT,        /* the perf map or jitdump of a process */
	OPENING_MAPS,       /* no file: lines of /proc/PID/maps of code that has one */
};

struct opening {
	uint32_t kind;
	uint32_t pid;
	uint64_t start; /* of the process, ns since boot; 0: whoever has the pid */
	uint64_t id;    /* of the file; 0: whichever is there */
	uint64_t vm_start, vm_end;
	uint64_t uid;      /* of the process; UINT64_MAX: not known, or not one of ours */
	uint64_t owner;    /* of the file that a debug file is wanted for */
	uint32_t mount;    /* the mount name space in which the path is meant */
	bool trusted;      /* the file is where nobody but root and its owner can write */
	bool own;          /* a debug file: in our own root alone */
	bool aloof;        /* not by way of the process, which can hold up who looks at its mappings: -EAGAIN instead */
	uint8_t asker;     /* enum wire_asker */
	uint64_t copy_max; /* bytes */
	struct symbols_debug debug;
	char path[PATH_MAX]; /* the last, so that its end need not be sent */
};

struct opened {
	int32_t err;
	bool trusted; /* nobody can hold up who uses it, or change it in a way that its owner could not */
	bool copied;  /* it is not the file itself, but what was in it */
	bool elf;     /* it begins as one */
	uint8_t reserved;
	uint64_t id; /* as frames carry it */
	uint64_t size;
	uint64_t owner;
	uint64_t mode;
	/* followed by text, of OPENING_MAPS */
};

#endif
