/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the folder of a server that ran: mkstore FOLDER FROM SECONDS COUNT FILE...
 *
 * COUNT windows of SECONDS each, from that time on (as for --from), are sealed; what is in them are the profiles of the
 * files, in turn. A folder that has a store already gets more. An error is one line and status 1.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/when.h"
#include "in/in.h"
#include "profile/profile.h"
#include "store/store.h"

static int read_file(struct profile **ret, const char *path)
{
	struct in_request request = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return fail(-errno, "'%s'", path);
	err = in_read_fd(ret, fd, &request);
	close(fd);
	buf_free(&request.notes);
	return err;
}

static int seal(struct store *store, const char *path, uint64_t from_ns, uint64_t duration_ns)
{
	struct profile *profile = NULL;
	int err = read_file(&profile, path);

	if (err)
		return err;
	profile_meta(profile)->wall_ns = from_ns;
	profile_meta(profile)->start_us = from_ns / NS_PER_US;
	profile_meta(profile)->duration_ns = duration_ns;
	err = store_seal(store, profile, "boot", NULL);
	profile_free(profile);
	return err;
}

int main(int argc, char **argv)
{
	struct store_options options = { .folder = argc > 5 ? argv[1] : "", .event_bytes = 1 << 20 };
	uint64_t from = 0, duration = argc > 5 ? strtoul(argv[3], NULL, 10) * NS_PER_SEC : 0;
	unsigned long count = argc > 5 ? strtoul(argv[4], NULL, 10) : 0;
	struct store *store = NULL;
	int err = argc > 5 ? 0 : fail_plain(-EINVAL, "usage: mkstore FOLDER FROM SECONDS COUNT FILE...");

	err = err ? err : when_parse(argv[2], clock_ns(CLOCK_REALTIME), &from);
	err = err ? err : store_open(&store, &options);
	for (unsigned long i = 0; i < count && !err; i++)
		err = seal(store, argv[5 + i % (unsigned long)(argc - 5)], from + i * duration, duration);
	while (!err && (err = store_tend(store)) > 0)
		err = 0;
	store_free(store);
	if (err)
		fprintf(stderr, "mkstore: %s\n", fail_text());
	return err ? 1 : 0;
}
