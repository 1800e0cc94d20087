/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream of wire records of all kinds into one ingest. The first byte says which helpers it has (1: mappings are
 * found in user space, 2: programs are); then come steps: what to do (enum step), the length of its bytes in two bytes,
 * the bytes. A record that is refused must leave the profile alone, every count must be in it in the end, and the
 * profile must survive being written and read.
 */
#include "collect/ingest.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "bpf/wire.h"
#include "in/in.h"
#include "out/out.h"
#include "profile/profile.h"

#define SEED 0x5eedULL

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum step {
	STEP_RECORD,
	STEP_NOTICE,
	STEP_COUNT,   /* bytes: how often, then a struct wire_key; what is missing of it is zero */
	STEP_EVENT,   /* bytes: a struct wire_event */
	STEP_LATEST,  /* bytes: when; an event of the key that was counted last */
	STEP_DRAINED, /* no bytes: what is due after a drain */
	STEPS
};

struct run {
	struct profile *profile;
	struct ingest *ingest;
	struct wire_key latest;
	uint64_t counted, events;
};

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void find_mapping(void *arg, uint32_t pid, struct profile_frame *frame)
{
	struct run *run = arg;

	if (pid & 1)
		return;
	frame->kind = FRAME_USER;
	frame->process = PROFILE_NONE;
	frame->file = profile_add_file(run->profile, &(struct profile_file){ .inode = pid });
}

static int find_program(void *arg, uint32_t pid, uint64_t start, struct buf *exe, struct buf *comm)
{
	(void)arg;
	if (pid & 1)
		return -ENOENT;
	buf_add(exe, &start, sizeof(start));
	buf_add(comm, &pid, sizeof(pid));
	return 0;
}

static void file_found(void *arg, uint32_t file, const struct wire_file *found)
{
	struct run *run = arg;

	must(file && file < profile_count(run->profile, PROFILE_FILES));
	must(profile_file(run->profile, file)->inode == found->key.inode);
}

/* What a refused record must not change. */
static uint64_t size_of(const struct profile *profile)
{
	uint64_t sum = 0;

	for (int table = 0; table < PROFILE_TABLES; table++)
		sum += profile_count(profile, table);
	return sum;
}

static void count(struct run *run, const void *bytes, size_t len)
{
	struct {
		uint64_t value;
		struct wire_key key;
	} given = { 0 };

	memcpy(&given, bytes, len < sizeof(given) ? len : sizeof(given));
	must(ingest_count(run->ingest, &given.key, given.value) == 0);
	run->latest = given.key;
	run->counted += given.value;
}

static void latest_event(struct run *run, const void *bytes, size_t len)
{
	struct wire_event event = { .key = wire_hash_key(SEED, &run->latest) };

	memcpy(&event.when, bytes, len < sizeof(event.when) ? len : sizeof(event.when));
	must(ingest_event(run->ingest, &event, sizeof(event)) == 0);
	run->events++;
}

static void take_step(struct run *run, enum step step, const void *bytes, size_t len)
{
	uint64_t before = size_of(run->profile);
	struct ingest_ended ended;
	int err = 0;

	switch (step) {
	case STEP_RECORD:
		err = ingest_record(run->ingest, bytes, len);
		break;
	case STEP_NOTICE:
		err = ingest_notice(run->ingest, bytes, len, &ended);
		must(!err || (!ended.pid && !ended.start));
		break;
	case STEP_COUNT:
		count(run, bytes, len);
		break;
	case STEP_EVENT:
		err = ingest_event(run->ingest, bytes, len);
		run->events += !err;
		break;
	case STEP_LATEST:
		latest_event(run, bytes, len);
		break;
	default:
		must(ingest_events_settle(run->ingest) == 0);
		ingest_forget_ended(run->ingest);
	}
	must(err == 0 || err == -EBADMSG);
	must(!err || size_of(run->profile) == before);
}

static uint64_t sum_of_samples(const struct profile *profile)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i < profile_count(profile, PROFILE_SAMPLES); i++)
		sum += profile_sample(profile, i)->value;
	return sum;
}

static void check_profile(const struct run *run)
{
	autobuf struct buf out = { 0 };
	struct profile *again;

	must(sum_of_samples(run->profile) == run->counted);
	must(profile_count(run->profile, PROFILE_EVENTS) - 1 + ingest_events_waiting(run->ingest) == run->events);
	must(ingest_next_unknown(run->ingest, 0) < profile_count(run->profile, PROFILE_PROCESSES));
	must(out_wick(run->profile, &out) == 0);
	must(in_wick(&again, out.data, out.len, &(struct in_request){ 0 }) == 0);
	must(sum_of_samples(again) == run->counted);
	must(profile_count(again, PROFILE_EVENTS) == profile_count(run->profile, PROFILE_EVENTS));
	profile_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct run run = { 0 };
	struct ingest_options options = { .seed = SEED, .file_found = file_found, .arg = &run };

	if (!size)
		return 0;
	must(profile_new(&run.profile) == 0);
	options.profile = run.profile;
	options.find_mapping = data[0] & 1 ? find_mapping : NULL;
	options.find_program = data[0] & 2 ? find_program : NULL;
	must(ingest_new(&run.ingest, &options) == 0);
	for (size_t at = 1; size - at >= 3;) {
		size_t len = data[at + 1] | (size_t)data[at + 2] << 8;

		len = len < size - at - 3 ? len : size - at - 3;
		take_step(&run, data[at] % STEPS, data + at + 3, len);
		at += 3 + len;
	}
	must(ingest_events_settle(run.ingest) == 0);
	check_profile(&run);
	ingest_free(run.ingest);
	profile_free(run.profile);
	return 0;
}
