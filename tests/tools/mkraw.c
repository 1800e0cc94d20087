/* SPDX-License-Identifier: Apache-2.0 */
/* mkraw PATH OFFSET: a profile with one frame, at this offset (hexadecimal) of that file, and no name for it. */
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "out/out.h"
#include "profile/profile.h"

static int make(struct profile *profile, const char *path, uint64_t offset)
{
	const struct profile_file file = { .path = profile_string(profile, path) };
	const struct profile_frame frame = { .file = profile_add_file(profile, &file), .address = offset };
	struct profile_sample sample = { .value = 7 };

	profile_meta(profile)->hz = 100;
	profile_meta(profile)->period = 10000000;
	sample.process = profile_add_process(profile, 42, 1);
	sample.stack = profile_add_node(profile, PROFILE_NONE, profile_add_frame(profile, &frame));
	return profile_add_sample(profile, &sample) == PROFILE_FULL;
}

int main(int argc, char **argv)
{
	struct buf out = { 0 };
	struct profile *profile = NULL;
	int err = argc != 3 || profile_new(&profile);

	err = err ? err : make(profile, argv[1], strtoull(argv[2], NULL, 16));
	err = err ? err : out_wick(profile, &out);
	if (!err && fwrite(out.data, 1, out.len, stdout) != out.len)
		err = 1;
	buf_free(&out);
	profile_free(profile);
	return err || fflush(stdout) ? 1 : 0;
}
