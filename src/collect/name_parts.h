/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of naming, for those files that work on it together: name.c, name_jit.c and name_debug.c. */
#ifndef WICK_COLLECT_NAME_PARTS_H
#define WICK_COLLECT_NAME_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "collect/name.h"
#include "collect/origin.h"

struct answer_reader;

struct list {
	uint32_t *frames;
	size_t len, cap;
};

struct held {
	int fd;          /* negative: none */
	uint64_t copied; /* bytes, if it is a copy */
};

#define NOT_HELD ((struct held){ .fd = -1 })

/* What belongs together in one request: frames of one file, or of one process's own code. */
struct unit {
	struct namer *namer;
	struct unit *next, *next_jit; /* of those that have frames without a name; of those that have no map */
	uint32_t kind;                /* enum frame_kind */
	uint32_t number;              /* of the file or process; 0 for the vDSO */
	struct held file;
	struct held debug, alt;       /* its debug file, and what that shares with others */
	struct symbols_debug *wanted; /* what these are known by, while they are looked for */
	struct origin origin;
	struct list waiting; /* to be asked for */
	struct list asked;   /* sorted by address */
	struct list unnamed; /* of a map that may grow */
	uint64_t *addresses; /* of those that are asked for */
	uint64_t map_bytes;  /* when the map was read last */
	uint64_t map_at;     /* when it is looked for next */
	uint64_t map_every;
	uint64_t ask_at;    /* not before */
	unsigned int tries; /* to find the debug file */
	bool found;         /* that has been tried, and is not tried again */
	bool last_look;     /* for its map: it is too late for another */
	bool queued, asking, served, given_up;
};

struct namer {
	struct namer_options options;
	struct sampler *sampler; /* whom helpers and the kernel's names are asked through */
	struct unit **units;
	size_t units_len, units_cap;
	struct map by_file, by_process; /* number → index of unit + 1 */
	struct unit *queue, *jits;      /* there may be thousands of units: every second only these are looked at */
	struct unit vdso, kernel;
	struct expand *inlines; /* what frames turn out to be */
	struct map marked;      /* frames that others were told of without a name */
	struct list late;       /* those that have one now */
	uint32_t gathered;      /* frames up to this one */
	size_t asking;          /* requests under way */
	size_t open;            /* descriptors of all units */
	uint64_t kernel_at;     /* when its list may be read again */
};

/* ---- name.c ---- */

/* The unit of a file or process, made if it was not there. NULL if memory is out. */
struct unit *namer_unit(struct namer *namer, struct map *map, uint32_t kind, uint32_t number);
void unit_hold(struct unit *unit, struct held *held, int fd, const struct opened *opened);
void unit_let_go(struct unit *unit, struct held *held);
void unit_enqueue(struct unit *unit); /* it has frames that wait for a name */
void unit_set_reason(struct unit *unit, const char *reason, size_t len);
/* Asks a worker for the names of what is in its list. `last`: there is no debug file to be looked for. */
int unit_ask_names(struct unit *unit, bool last);

/* ---- name_jit.c: maps of code that runtimes made ---- */

void unit_find_map(struct unit *unit); /* a helper does */
bool unit_may_look(const struct unit *unit);

/* ---- name_debug.c: debug files ---- */

/*
 * A worker wants debug files, and says what they are known by: they are looked for, and the names are asked for
 * again.
 */
int unit_find_debug(struct unit *unit, struct answer_reader *reader);

#endif
