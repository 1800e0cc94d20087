/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug files of a file: first its own, then what that shares with others. A helper looks for each, or a server is
 * asked; then the names are asked for again. Invariant: from the worker's answer to the next question the unit is
 * asking.
 */
#include "collect/name_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/helpers.h"
#include "profile/profile.h"
#include "worker/fetch.h"
#include "worker/protocol.h"

#define TRIES 2 /* the debug file, then what it refers to */

static int fetch_id(const struct namer *namer, const unsigned char *id, size_t len)
{
	return namer->options.fetch ? fetch_debug(namer->options.fetch, id, len) : -ENOENT;
}

static void find_alt(struct unit *unit, bool found);

/* What was found, if anything, goes with the next question to the worker; it is the last if there is nothing new. */
static void found_debug(struct unit *unit, bool found)
{
	bool last = !found || unit->tries == TRIES;

	unit->found = last;
	free(unit->wanted);
	unit->wanted = NULL;
	unit->asking = false;
	if (unit_ask_names(unit, last))
		unit_set_reason(unit, "worker_died", strlen("worker_died"));
	if (last && !unit->namer->options.again) {
		unit_let_go(unit, &unit->debug);
		unit_let_go(unit, &unit->alt);
	}
}

static void debug_opened(void *arg, const struct opened *opened, int fd, const char *text, size_t len)
{
	struct unit *unit = arg;

	(void)text, (void)len;
	unit->namer->asking--;
	unit_hold(unit, &unit->debug, fd, opened);
	if (fd < 0 && opened->err != -ECANCELED)
		unit_hold(unit, &unit->debug, fetch_id(unit->namer, unit->wanted->build_id, unit->wanted->build_id_len),
			  NULL);
	find_alt(unit, unit->debug.fd >= 0);
}

static void alt_opened(void *arg, const struct opened *opened, int fd, const char *text, size_t len)
{
	struct unit *unit = arg;

	(void)text, (void)len;
	unit->namer->asking--;
	unit_hold(unit, &unit->alt, fd, opened);
	if (fd < 0 && opened->err != -ECANCELED)
		unit_hold(unit, &unit->alt, fetch_id(unit->namer, unit->wanted->alt_id, unit->wanted->alt_id_len),
			  NULL);
	found_debug(unit, unit->debug.fd >= 0 || unit->alt.fd >= 0);
}

/* A helper looks for one of them. */
static int look_for(struct unit *unit, enum opening_kind kind, helper_done *done)
{
	const struct namer_options *options = &unit->namer->options;
	const char *path = profile_text(options->profile, profile_file(options->profile, unit->number)->path, NULL);
	int err = origin_find_debug(&unit->origin, options->helpers, unit->namer->sampler, kind, path, unit->wanted,
				    done, unit);

	unit->namer->asking += !err;
	return err;
}

static void find_alt(struct unit *unit, bool found)
{
	if (!unit->wanted->alt_id_len || unit->alt.fd >= 0 || look_for(unit, OPENING_ALT, alt_opened))
		found_debug(unit, found);
}

/* The worker says what debug files would be known by; they are looked for, and the names are asked for again. */
int unit_find_debug(struct unit *unit, struct answer_reader *reader)
{
	if (unit->tries++ >= TRIES || unit->wanted)
		return -EBADMSG;
	unit->wanted = calloc(1, sizeof(*unit->wanted));
	if (!unit->wanted)
		return -ENOMEM;
	if (answer_read_debug(reader, unit->wanted)) {
		free(unit->wanted);
		unit->wanted = NULL;
		return -EBADMSG;
	}
	unit->asking = true;
	if (!unit->wanted->wanted || unit->debug.fd >= 0 || look_for(unit, OPENING_DEBUG, debug_opened))
		find_alt(unit, false);
	return 0;
}
