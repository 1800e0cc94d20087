/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of `perf script` (docs/formats.md): for each sample a line that says who, where and when, then its frames,
 * leaf first, then an empty line. In: any profile. Out: what stackcollapse-perf.pl, FlameScope and speedscope read.
 * The periods add up to the profile's values: that is what collapsing adds up.
 *
 * A sample whose time was not kept is written as often as it was counted, because most readers count records. If that
 * were very many, as with values that are bytes, each is written once, with its count as the period.
 */
#include "out/out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "out/advice.h"
#include "out/timeline.h"
#include "profile/profile.h"

#define APART_MAX 1000000u
#define LINES_MAX (16u << 20) /* of frames, in all records */

/* The line of a frame, made when it is first met. */
struct part {
	size_t at;
	size_t len;
};

struct perf {
	const struct profile *profile;
	struct buf *out;
	struct part *frames;
	struct buf lines;
	struct buf event; /* its name */
};

/* Readers take "+0x12" off the end of a name: it would be the place in the function. */
static void end_name(struct buf *out, size_t begin)
{
	size_t at = out->len;

	if (buf_error(out))
		return;
	while (at > begin && strchr("0123456789abcdef", out->data[at - 1]))
		at--;
	if (at < out->len && at >= begin + 3 && !memcmp(out->data + at - 3, "+0x", 3))
		buf_adds(out, "+0x0");
}

static void add_module(struct perf *perf, uint32_t number)
{
	const struct profile_frame *frame = profile_frame(perf->profile, number);
	struct buf *out = &perf->lines;
	size_t before = out->len, len;
	const char *path;

	switch (frame->kind) {
	case FRAME_INLINE:
		buf_adds(out, "inlined");
		return;
	case FRAME_JIT:
		buf_addf(out, "/tmp/perf-%" PRIu32 ".map", profile_process(perf->profile, frame->process)->pid);
		return;
	case FRAME_USER:
		path = profile_text(perf->profile, profile_file(perf->profile, frame->file)->path, &len);
		text_escape(out, path, len, " "); /* speedscope passes over a frame in a file with a blank */
		break;
	case FRAME_CUT:
		break;
	default:
		out_module_path(perf->profile, number, out);
	}
	if (out->len == before)
		buf_adds(out, "[unknown]");
}

static const struct part *line_of(struct perf *perf, uint32_t frame)
{
	struct part *part = &perf->frames[frame];
	size_t name;

	if (part->len)
		return part;
	part->at = perf->lines.len;
	buf_addf(&perf->lines, "\t%16" PRIx64 " ", profile_frame(perf->profile, frame)->address);
	name = perf->lines.len;
	out_name(perf->profile, frame, &perf->lines);
	end_name(&perf->lines, name);
	buf_adds(&perf->lines, " (");
	add_module(perf, frame);
	buf_adds(&perf->lines, ")\n");
	part->len = perf->lines.len - part->at;
	return part;
}

/* One that would be taken for a comment, or for no name at all, begins with an escape. */
static void add_comm(struct perf *perf, uint32_t sample)
{
	uint32_t comm = out_comm(perf->profile, sample);
	size_t len, escaped, blank;
	const char *text = profile_text(perf->profile, comm, &len);

	if (!comm)
		text = out_has_comm(perf->profile, sample) ? "[unnamed]" : "[nobody]", len = strlen(text);
	escaped = len && (*text == '#' || *text == ' ');
	if (escaped)
		buf_addf(perf->out, "\\x%02x", (unsigned char)*text);
	blank = len > escaped && text[len - 1] == ' ';
	text_escape(perf->out, text + escaped, len - escaped - blank, NULL);
	if (blank) /* blanks follow it anyway */
		buf_adds(perf->out, "\\x20");
	buf_adds(perf->out, len == 1 ? "  " : " "); /* stackcollapse-perf.pl wants two letters */
}

static void add_record(struct perf *perf, const struct timeline_record *record)
{
	const struct profile_sample *sample = profile_sample(perf->profile, record->sample);
	uint32_t pid = profile_process(perf->profile, sample->process)->pid;
	uint64_t us = profile_meta(perf->profile)->start_us + record->time_ns / 1000;

	add_comm(perf, record->sample);
	buf_addf(perf->out, "%" PRIu32 "/%" PRIu32, pid, sample->tid ? sample->tid : pid);
	if (record->cpu != TIMELINE_NO_CPU)
		buf_addf(perf->out, " [%03" PRIu32 "]", record->cpu);
	buf_addf(perf->out, " %" PRIu64 ".%06" PRIu64 ": %" PRIu64 " %s:\n", us / 1000000, us % 1000000, record->count,
		 perf->event.data);
	for (uint32_t node = sample->stack; node; node = profile_node(perf->profile, node)->parent) {
		const struct part *part = line_of(perf, profile_node(perf->profile, node)->frame);

		if (!buf_error(&perf->lines))
			buf_add(perf->out, perf->lines.data + part->at, part->len);
	}
	buf_addc(perf->out, '\n');
}

/* How many records there may be: none too many, or each sample once, as what counts something else than samples. */
static int find_apart(const struct profile *profile, uint64_t *ret)
{
	uint32_t nodes = profile_count(profile, PROFILE_NODES);
	autofree uint32_t *depths = calloc(nodes, sizeof(*depths));
	const char *unit = profile_text(profile, profile_meta(profile)->unit, NULL);
	uint64_t lines = 0, more;

	if (!depths)
		return -ENOMEM;
	*ret = !*unit || !strcmp(unit, "samples") || !strcmp(unit, "count") ? APART_MAX : 0;
	for (uint32_t i = 1; i < nodes; i++)
		depths[i] = depths[profile_node(profile, i)->parent] + 1;
	for (uint32_t i = 1; i < profile_count(profile, PROFILE_SAMPLES); i++) {
		const struct profile_sample *sample = profile_sample(profile, i);

		if (__builtin_mul_overflow(sample->value, depths[sample->stack], &more) ||
		    __builtin_add_overflow(lines, more, &lines) || lines > LINES_MAX)
			*ret = 0;
	}
	return 0;
}

/* As `perf script --header` has it, with what is missing. */
static void add_header(struct perf *perf)
{
	const struct profile_meta *meta = profile_meta(perf->profile);
	const struct {
		const char *what;
		uint32_t string;
	} facts[] = {
		{ "hostname", meta->host },
		{ "os release", meta->kernel },
		{ "arch", meta->arch },
		{ "wick version", meta->version },
	};

	buf_adds(perf->out, "# ========\n");
	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
		if (!facts[i].string)
			continue;
		buf_addf(perf->out, "# %s : ", facts[i].what);
		out_string(perf->profile, facts[i].string, perf->out);
		buf_addc(perf->out, '\n');
	}
	if (!meta->version) /* of others' profiles too: readers know by it that periods are counts */
		buf_adds(perf->out, "# wick version : " WICK_RELEASE "\n");
	for (uint32_t i = 1; i < profile_count(perf->profile, PROFILE_COUNTERS); i++) {
		autobuf struct buf line = { 0 };

		if (advice_line(perf->profile, i, true, &line) && !buf_error(&line))
			buf_addf(perf->out, "# %s\n", line.data);
	}
	buf_adds(perf->out, "# ========\n#\n");
}

int out_perf(const struct profile *profile, struct buf *out)
{
	struct perf perf = { .profile = profile, .out = out };
	struct timeline timeline = { 0 };
	size_t len;
	const char *event = profile_text(profile, profile_meta(profile)->event, &len);
	uint64_t apart;
	int err = find_apart(profile, &apart);

	err = err ? err : timeline_new(profile, apart, &timeline);
	perf.frames = calloc(profile_count(profile, PROFILE_FRAMES), sizeof(*perf.frames));
	text_escape(&perf.event, len ? event : "cpu-clock", len ? len : strlen("cpu-clock"), " ");
	err = err || perf.frames ? err : -ENOMEM;
	err = err ? err : buf_error(&perf.event);
	if (!err)
		add_header(&perf);
	for (size_t i = 0; i < timeline.len && !err; i++)
		add_record(&perf, &timeline.list[i]);
	err = err ? err : buf_error(&perf.lines) ? buf_error(&perf.lines) : buf_error(out);
	timeline_free(&timeline);
	free(perf.frames);
	buf_free(&perf.lines);
	buf_free(&perf.event);
	return err;
}
