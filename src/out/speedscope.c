/* SPDX-License-Identifier: Apache-2.0 */
/*
 * speedscope's format (docs/formats.md): a profile, its samples in the order of time where that is known; where there
 * are values of several types, one for each, that which is shown first. It has no
 * field for processes and kinds of frames, so a stack is what a folded line has: the name of the process as the root,
 * _[k], _[j] and _[i] behind names. Weights are counts and add up to the values of the profile.
 */
#include "out/out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/intern.h"
#include "base/json.h"
#include "base/text.h"
#include "out/advice.h"
#include "out/timeline.h"
#include "profile/profile.h"

struct speedscope {
	const struct profile *profile;
	struct json json;
	struct timeline timeline; /* of the type that is being written */
	uint32_t type;
	struct intern *seen; /* frames as they are written, each once */
	uint32_t *frames;    /* of the profile → of the file, from 1 */
	uint32_t *comms;     /* string, or one more for nobody's → of the file, from 1 */
	struct buf text;
};

/* Its number, from 1; a new one is written. In text are the name, then a file and numbers, if there are some. */
static int put_frame(struct speedscope *scope, size_t name_len, size_t file_len, const struct profile_source *source,
		     uint32_t *ret)
{
	struct buf *text = &scope->text;
	uint32_t count = intern_count(scope->seen);

	*ret = buf_error(text) ? UINT32_MAX : intern_bytes(scope->seen, text->data, text->len);
	if (*ret == UINT32_MAX)
		return -ENOMEM;
	if (*ret < count)
		return 0;
	json_object(&scope->json, NULL);
	json_text(&scope->json, "name", text->data, name_len);
	if (file_len)
		json_text(&scope->json, "file", text->data + name_len + 1, file_len);
	if (source && source->line)
		json_u64(&scope->json, "line", source->line);
	if (source && source->column)
		json_u64(&scope->json, "col", source->column);
	json_end(&scope->json, '}');
	return 0;
}

static int put_frame_of(struct speedscope *scope, uint32_t frame)
{
	const struct profile_source *source = &profile_frame(scope->profile, frame)->source;
	size_t name_len, file_len;

	buf_clear(&scope->text);
	out_name(scope->profile, frame, &scope->text);
	buf_adds(&scope->text, out_kind_suffix(profile_frame(scope->profile, frame)->kind));
	name_len = scope->text.len;
	buf_addc(&scope->text, '\n');     /* no name has one */
	if (source->file && source->line) /* who reads it again knows by the line which of the two it is */
		out_string(scope->profile, source->file, &scope->text);
	else
		out_module_path(scope->profile, frame, &scope->text);
	file_len = scope->text.len - name_len - 1;
	if (source->line || source->column)
		buf_addf(&scope->text, "\n%u:%u", source->line, source->column);
	return put_frame(scope, name_len, file_len, source, &scope->frames[frame]);
}

static uint32_t comm_of(const struct speedscope *scope, uint32_t sample)
{
	if (!out_has_comm(scope->profile, sample))
		return profile_count(scope->profile, PROFILE_STRINGS);
	return out_comm(scope->profile, sample);
}

static int put_comm(struct speedscope *scope, uint32_t sample)
{
	uint32_t comm = comm_of(scope, sample);

	if (scope->comms[comm])
		return 0;
	buf_clear(&scope->text);
	if (!out_has_comm(scope->profile, sample))
		buf_adds(&scope->text, "[nobody]");
	else if (comm)
		out_string(scope->profile, comm, &scope->text);
	else
		buf_adds(&scope->text, "[unnamed]");
	return put_frame(scope, scope->text.len, 0, NULL, &scope->comms[comm]);
}

static int put_frames(struct speedscope *scope)
{
	uint32_t nodes = profile_count(scope->profile, PROFILE_NODES);
	autofree bool *used = calloc(nodes, sizeof(*used));
	int err = used ? 0 : -ENOMEM;

	json_object(&scope->json, "shared");
	json_array(&scope->json, "frames");
	for (uint32_t i = 1; i < profile_count(scope->profile, PROFILE_SAMPLES) && !err; i++) {
		if (!types_counts(scope->profile, i))
			continue;
		used[profile_sample(scope->profile, i)->stack] = true;
		err = put_comm(scope, i);
	}
	for (uint32_t i = nodes; !err && i-- > 1;) /* a parent has a smaller number */
		if (used[i])
			used[profile_node(scope->profile, i)->parent] = true;
	for (uint32_t i = 1; i < nodes && !err; i++) {
		uint32_t frame = profile_node(scope->profile, i)->frame;

		if (used[i] && !scope->frames[frame])
			err = put_frame_of(scope, frame);
	}
	json_end(&scope->json, ']');
	json_end(&scope->json, '}');
	return err;
}

static int put_stacks(struct speedscope *scope)
{
	uint32_t *stack = NULL;
	size_t cap = 0;
	int err = 0;

	json_array(&scope->json, "samples");
	for (size_t i = 0; i < scope->timeline.len && !err; i++) {
		uint32_t number = scope->timeline.list[i].sample;
		size_t depth = 0;

		json_array(&scope->json, NULL);
		json_u64(&scope->json, NULL, scope->comms[comm_of(scope, number)] - 1);
		for (uint32_t node = profile_sample(scope->profile, number)->stack; node && !err;
		     node = profile_node(scope->profile, node)->parent) {
			if (depth == cap) {
				uint32_t *grown = reallocarray(stack, cap ? 2 * cap : 256, sizeof(*grown));

				err = grown ? 0 : -ENOMEM;
				stack = grown ? grown : stack;
				cap = grown ? (cap ? 2 * cap : 256) : cap;
			}
			if (!err)
				stack[depth++] = profile_node(scope->profile, node)->frame;
		}
		while (depth--)
			json_u64(&scope->json, NULL, scope->frames[stack[depth]] - 1);
		json_end(&scope->json, ']');
	}
	json_end(&scope->json, ']');
	free(stack);
	return err;
}

static uint32_t unit_of(const struct speedscope *scope)
{
	const struct types *types = profile_types(scope->profile);

	return scope->type == types->shown ? profile_meta(scope->profile)->unit : types->list[scope->type].unit;
}

/* What it is of, and what is missing in it: the only place for words. One of several begins with its type. */
static void put_title(struct speedscope *scope, const char *key, bool typed)
{
	const struct profile_meta *meta = profile_meta(scope->profile);

	buf_clear(&scope->text);
	if (typed) {
		out_string(scope->profile, profile_types(scope->profile)->list[scope->type].name, &scope->text);
		buf_adds(&scope->text, ": ");
	}
	out_string(scope->profile, meta->host, &scope->text);
	buf_adds(&scope->text, meta->host ? ": " : "");
	text_thousands(&scope->text, scope->timeline.total);
	buf_addc(&scope->text, ' ');
	if (unit_of(scope))
		out_string(scope->profile, unit_of(scope), &scope->text);
	else
		buf_adds(&scope->text, "samples");
	for (uint32_t i = 1; i < profile_count(scope->profile, PROFILE_COUNTERS); i++) {
		autobuf struct buf line = { 0 };

		if (advice_line(scope->profile, i, false, &line) && !buf_error(&line))
			buf_addf(&scope->text, ", %s", line.data);
	}
	json_text(&scope->json, key, scope->text.data, scope->text.len);
}

static int put_profile(struct speedscope *scope)
{
	const char *unit = profile_text(scope->profile, unit_of(scope), NULL);
	int err;

	json_object(&scope->json, NULL);
	json_text(&scope->json, "type", "sampled", strlen("sampled"));
	put_title(scope, "name", profile_types(scope->profile)->len > 1);
	unit = !strcmp(unit, "nanoseconds") || !strcmp(unit, "bytes") ? unit : "none";
	json_text(&scope->json, "unit", unit, strlen(unit));
	json_u64(&scope->json, "startValue", 0);
	json_u64(&scope->json, "endValue", scope->timeline.total);
	err = put_stacks(scope);
	json_array(&scope->json, "weights");
	for (size_t i = 0; i < scope->timeline.len; i++)
		json_u64(&scope->json, NULL, scope->timeline.list[i].count);
	json_end(&scope->json, ']');
	json_end(&scope->json, '}');
	return err;
}

/* What the samples count in another type; what is below zero has no width. */
static int count_again(struct speedscope *scope)
{
	uint32_t count = profile_count(scope->profile, PROFILE_SAMPLES);
	struct timeline *timeline = &scope->timeline;

	timeline_free(timeline);
	*timeline = (struct timeline){ .list = calloc(count, sizeof(*timeline->list)) };
	if (!timeline->list)
		return -ENOMEM;
	for (uint32_t i = 1; i < count; i++) {
		uint64_t value = types_value(scope->profile, i, scope->type);

		if (!value || value > INT64_MAX || value > INT64_MAX - timeline->total)
			continue;
		timeline->list[timeline->len++] = (struct timeline_record){ .count = value, .sample = i };
		timeline->total += value;
	}
	return 0;
}

static int put_profiles(struct speedscope *scope)
{
	const struct types *types = profile_types(scope->profile);
	int err;

	json_array(&scope->json, "profiles");
	err = put_profile(scope);
	for (uint32_t i = 0; i < types->len && !err; i++) {
		if (i == types->shown)
			continue;
		scope->type = i;
		err = count_again(scope);
		err = err ? err : put_profile(scope);
	}
	json_end(&scope->json, ']');
	return err;
}

static int put_all(struct speedscope *scope)
{
	static const char schema[] = "https://www.speedscope.app/file-format-schema.json";
	int err;

	json_object(&scope->json, NULL);
	json_text(&scope->json, "$schema", schema, strlen(schema));
	buf_adds(&scope->text, "wick@");
	out_string(scope->profile, profile_meta(scope->profile)->version, &scope->text);
	json_text(&scope->json, "exporter", scope->text.data, scope->text.len);
	put_title(scope, "name", false);
	json_u64(&scope->json, "activeProfileIndex", 0);
	err = put_frames(scope);
	err = err ? err : put_profiles(scope);
	json_end(&scope->json, '}');
	buf_addc(scope->json.out, '\n');
	return err;
}

int out_speedscope(const struct profile *profile, struct buf *out)
{
	struct speedscope scope = {
		.profile = profile,
		.type = profile_types(profile)->shown,
		.json = { .out = out },
		.frames = calloc(profile_count(profile, PROFILE_FRAMES), sizeof(*scope.frames)),
		.comms = calloc(profile_count(profile, PROFILE_STRINGS) + 1ul, sizeof(*scope.comms)),
	};
	int err = scope.frames && scope.comms ? intern_new(&scope.seen) : -ENOMEM;

	err = err ? err : timeline_new(profile, 0, &scope.timeline);
	err = err ? err : put_all(&scope);
	err = err ? err : buf_error(&scope.text) ? buf_error(&scope.text) : buf_error(out);
	timeline_free(&scope.timeline);
	intern_free(scope.seen);
	free(scope.frames);
	free(scope.comms);
	buf_free(&scope.text);
	return err;
}
