/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small profile with one of everything, for tests of what writes and reads profiles. Names hold what targets may put
 * into them.
 */
#ifndef WICK_TESTS_UNIT_EXAMPLE_H
#define WICK_TESTS_UNIT_EXAMPLE_H

#include "profile/profile.h"

static inline uint32_t example_frame(struct profile *profile, uint32_t kind, uint32_t file, uint64_t address,
				     const char *name)
{
	const struct profile_frame frame = {
		.kind = kind, .file = file, .address = address, .name = profile_string(profile, name)
	};

	return profile_add_frame(profile, &frame);
}

static inline void example_meta(struct profile *profile)
{
	struct profile_meta *meta = profile_meta(profile);

	meta->hz = 99;
	meta->period = 10101010;
	meta->start_us = 5000000;
	meta->wall_ns = 1700000000000000000;
	meta->duration_ns = 10000000000;
	meta->cpus = 2;
	meta->expected = 1980;
	meta->event = profile_string(profile, "cpu-clock");
	meta->unit = profile_string(profile, "samples");
	meta->host = profile_string(profile, "host");
	meta->kernel = profile_string(profile, "6.1.0");
	meta->kernel_build_id = profile_bytes(profile, "\x00\x01\xff", 3);
	meta->arch = profile_string(profile, "x86_64");
	meta->version = profile_string(profile, "0.1.0");
	meta->command = profile_string(profile, "wick record 10");
	meta->kernel_base = 0xffffffff81000000;
	meta->busy_user_us = 11600000;
	meta->busy_kernel_us = 2600000;
	meta->idle_us = 5800000;
}

static inline void example_counters(struct profile *profile)
{
	static const struct {
		const char *group, *name;
		uint64_t value;
	} counters[] = {
		{ "total", "fired", 1970 },
		{ "total", "taken", 1012 },
		{ "total", "counted", 1000 },
		{ "left_out", "idle", 950 },
		{ "left_out", "filter", 0 },
		{ "left_out", "self", 8 },
		{ "lost", "ring", 10 },
		{ "lost", "stacks", 0 },
		{ "lost", "busy", 2 },
		{ "stack", "user", 900 },
		{ "stack", "complete", 800 },
		{ "cut", "depth", 0 },
		{ "cut", "no_mapping", 100 },
		{ "frame", "row", 0 },
		{ "frame", "fp", 2000 },
		{ "frame", "user", 2900 },
		{ "note", "missed", 10 },
		{ "note", "keys", 5 },
		{ "note", "events_lost", 3 },
		{ "self", "cpu_us", 8000 },
		{ "self", "max_rss_bytes", 21000000 },
		{ "self", "first_sample_us", 41500 },
		{ "self", "bpf_map_bytes", 14000000 },
	};

	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		profile_add_counter(profile, counters[i].group, counters[i].name, counters[i].value);
}

static inline void example_sample(struct profile *profile, uint32_t process, uint32_t stack, uint32_t labels,
				  uint64_t value)
{
	const struct profile_sample sample = {
		.value = value,
		.stack = stack,
		.process = process,
		.comm = profile_process(profile, process)->comm,
		.labels = labels,
		.tid = labels ? 4242 : 0,
	};
	const struct profile_event event = { .sample = profile_add_sample(profile, &sample),
					     .time_us = 1000 * value,
					     .cpu = value & 1 };

	profile_add_event(profile, &event);
}

static inline void example_processes(struct profile *profile)
{
	uint32_t shell = profile_add_process(profile, 100, 77);
	uint32_t evil = profile_add_process(profile, 4242, 88);
	struct profile_process *process = profile_process(profile, shell);

	process->comm = profile_string(profile, "sh");
	process->exe = profile_string(profile, "/bin/sh");
	process->ways = (struct profile_ways){ 1300, 2000, 300 };
	process = profile_process(profile, evil);
	process->parent = shell;
	process->comm = profile_string(profile, "a;b\nc\x1b\xff");
	process->exe = profile_string(profile, "/tmp/e\"vil");
	process->cgroup = profile_string(profile, "/user.slice");
}

/* Process 1 is sh, 2 the one with the odd name. Values: 600 + 200 + 100 for sh (100 of them cut), 100 for the other. */
static inline void example_fill(struct profile *profile)
{
	const struct profile_file libc = { .device = 8,
					   .inode = 1234,
					   .size = 2000000,
					   .generation = 7,
					   .mtime_ns = 1600000000000000001,
					   .path = profile_string(profile, "/usr/lib/libc.so.6"),
					   .build_id = profile_bytes(profile, "\xab\x00\xcd", 3) };
	const struct profile_file gone = { .inode = 99, .reason = profile_string(profile, "file_gone") };
	uint32_t file = profile_add_file(profile, &libc);
	uint32_t node, cut;

	example_meta(profile);
	example_processes(profile);
	node = profile_add_node(profile, PROFILE_NONE, example_frame(profile, FRAME_USER, file, 0x1000, "main"));
	node = profile_add_node(profile, node, example_frame(profile, FRAME_USER, file, 0x2f00, ""));
	example_sample(profile, 1, node, PROFILE_NONE, 600);
	node = profile_add_node(profile, node, example_frame(profile, FRAME_KERNEL, 0, 0xffffffff81000123, ""));
	example_sample(profile, 1, node, PROFILE_NONE, 200);
	cut = profile_add_node(profile, PROFILE_NONE, example_frame(profile, FRAME_CUT, 0, 0, "no_mapping"));
	cut = profile_add_node(profile, cut,
			       example_frame(profile, FRAME_USER, profile_add_file(profile, &gone), 0x42, ""));
	example_sample(profile, 1, cut, PROFILE_NONE, 100);
	node = profile_add_node(profile, PROFILE_NONE, example_frame(profile, FRAME_JIT, 0, 0x7f0000000000, ""));
	node = profile_add_node(profile, node, example_frame(profile, FRAME_INLINE, file, 0x3000, "x;\ny"));
	node = profile_add_node(profile, node, example_frame(profile, FRAME_VDSO, 0, 0x6f0, ""));
	example_sample(
		profile, 2, node,
		profile_add_label(profile, PROFILE_NONE, profile_string(profile, "span"), profile_string(profile, "1")),
		100);
	example_counters(profile);
}

#endif
