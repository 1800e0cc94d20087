/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the events of a profile, one a line: microseconds on the monotonic clock, name of the process, names of the
 * functions from the leaf to the root (? where there is none, `;` between), separated by tabs. For tests that compare
 * what was sampled with what happened at that time: listevents FILE.wick
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/text.h"
#include "cmd/input.h"
#include "profile/profile.h"

static void add_functions(struct buf *out, const struct profile *profile, uint32_t stack)
{
	for (uint32_t node = stack; node; node = profile_node(profile, node)->parent) {
		uint32_t name = profile_frame(profile, profile_node(profile, node)->frame)->name;
		size_t len;
		const char *text = profile_text(profile, name, &len);

		text_escape(out, name ? text : "?", name ? len : 1, "\t;");
		buf_addc(out, ';');
	}
}

int main(int argc, char **argv)
{
	struct profile *profile = NULL;
	autobuf struct buf out = { 0 };

	if (argc != 2) {
		fprintf(stderr, "usage: listevents FILE\n");
		return 2;
	}
	if (input_read(&profile, argv[1], &(struct input_options){ 0 })) {
		fprintf(stderr, "listevents: %s\n", fail_text());
		return 1;
	}
	for (uint32_t i = 1; i < profile_count(profile, PROFILE_EVENTS); i++) {
		const struct profile_event *event = profile_event(profile, i);
		size_t len;
		const char *comm = profile_text(profile, profile_sample(profile, event->sample)->comm, &len);

		buf_addf(&out, "%" PRIu64 "\t", profile_meta(profile)->start_us + event->time_us);
		text_escape(&out, comm, len, "\t");
		buf_addc(&out, '\t');
		add_functions(&out, profile, profile_sample(profile, event->sample)->stack);
		buf_addc(&out, '\n');
	}
	profile_free(profile);
	if (buf_error(&out) || fwrite(out.data ? out.data : "", 1, out.len, stdout) != out.len)
		return 1;
	return fflush(stdout) != 0;
}
