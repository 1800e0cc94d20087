/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads speedscope's own format: frames that all share, and profiles, each of samples with weights or of events that
 * open and close frames. In: JSON from anybody. Out: a profile of all those that have the unit of the first;
 * with several, each one's name is that of its samples. Of several by wick each is of another type, which its name
 * begins with. Time becomes nanoseconds, so that fractions of milliseconds
 * are kept.
 *
 * Members stand in any order: where the parts are is found in a first pass, which also checks that all of it is JSON.
 */
#include "in/in.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fail.h"
#include "base/json_read.h"
#include "in/stack.h"
#include "profile/profile.h"

#define FRAMES_MAX (16u << 20)
#define PROFILES_MAX 100000u
#define VALUE_MAX 9007199254740992.0 /* 2^53: up to there every whole number is one of JavaScript's */

/* Where the members of a profile are. */
struct part {
	const char *name, *samples, *weights, *events;
	bool evented;
	uint64_t start; /* of the events, scaled */
	struct span unit;
};

struct speedscope {
	struct profile *profile;
	struct in_request *request;
	struct json_in json, weights;
	const char *frames_at, *profiles_at;
	bool by_wick;
	uint32_t *frames;
	size_t frames_len, frames_cap;
	uint32_t *names; /* of frames, whole: one may be a process's */
	uint32_t *open;  /* frames of the stack, root first */
	uint32_t root;   /* the name of the first of them */
	struct stack stack;
	struct stack_types types;
	struct buf unit, name, text;
	double factor;
	size_t profiles;
	uint64_t sum, count;
	bool full;
};

static int out_of_memory(void)
{
	return fail(-ENOMEM, "reading a profile");
}

/* Ends everything that is being read. */
static void stop(struct speedscope *scope, const char *why)
{
	json_in_fail(&scope->json, why);
}

/* A line or a column; 0 if it is none that could be. */
static uint32_t read_place(struct json_in *json)
{
	double value;

	if (json_in_peek(json) != '0') {
		json_in_skip(json);
		return 0;
	}
	value = json_in_double(json);
	return value >= 1 && value <= INT32_MAX ? (uint32_t)value : 0;
}

/* With a line, the file is that of the source; wick's own without one are modules, and nobody else's are told apart. */
static uint32_t make_frame(struct speedscope *scope, struct span name, struct span file, struct profile_source *source)
{
	if (source->line)
		source->file = stack_unescape(scope->profile, file, &scope->text);
	if (source->line && scope->by_wick)
		file.len = 0;
	return stack_named_frame(scope->profile, name, file, source, !scope->by_wick, &scope->text);
}

static void add_frame(struct speedscope *scope)
{
	autobuf struct buf name = { 0 }, file = { 0 };
	struct profile_source source = { 0 };
	struct span key, text;

	for (json_in_begin(&scope->json, '{'); json_in_key(&scope->json, &key);) {
		struct buf *into = span_is(key, "name") ? &name : span_is(key, "file") ? &file : NULL;

		if (span_is(key, "line") || span_is(key, "col")) {
			*(span_is(key, "line") ? &source.line : &source.column) = read_place(&scope->json);
			continue;
		}
		if (!into || json_in_peek(&scope->json) != '"') {
			json_in_skip(&scope->json);
			continue;
		}
		text = json_in_text(&scope->json);
		buf_clear(into);
		buf_add(into, text.data, text.len);
	}
	if (scope->json.bad)
		return;
	if (scope->frames_len == scope->frames_cap) {
		size_t cap = scope->frames_cap ? scope->frames_cap * 2 : 1024;
		uint32_t *grown = cap <= FRAMES_MAX ? reallocarray(scope->frames, cap, sizeof(*grown)) : NULL;
		uint32_t *names = grown ? reallocarray(scope->names, cap, sizeof(*names)) : NULL;

		scope->frames = grown ? grown : scope->frames;
		scope->names = names ? names : scope->names;
		scope->full = !names;
		if (!names) {
			stop(scope, "too many frames");
			return;
		}
		scope->frames_cap = cap;
	}
	scope->names[scope->frames_len] =
		stack_unescape(scope->profile, (struct span){ name.data, name.len }, &scope->text);
	scope->frames[scope->frames_len++] = make_frame(scope, (struct span){ name.data, name.len },
							(struct span){ file.data ? file.data : "", file.len }, &source);
	scope->full |= scope->frames[scope->frames_len - 1] == PROFILE_FULL || buf_error(&name) || buf_error(&file);
	if (scope->full)
		stop(scope, "memory is out");
}

static void read_frames(struct speedscope *scope)
{
	struct span key;

	for (json_in_begin(&scope->json, '{'); json_in_key(&scope->json, &key);) {
		if (!span_is(key, "frames")) {
			json_in_skip(&scope->json);
			continue;
		}
		for (json_in_begin(&scope->json, '['); json_in_element(&scope->json);)
			add_frame(scope);
	}
}

/* The factor that makes whole numbers of the unit's values, and the unit that they then have. */
static double factor_of(struct span unit, const char **ret)
{
	static const struct {
		const char *unit, *becomes;
		double factor;
	} units[] = {
		{ "nanoseconds", "nanoseconds", 1 },
		{ "microseconds", "nanoseconds", 1e3 },
		{ "milliseconds", "nanoseconds", 1e6 },
		{ "seconds", "nanoseconds", 1e9 },
		{ "bytes", "bytes", 1 },
		{ "none", "samples", 1 },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (span_is(unit, units[i].unit)) {
			*ret = units[i].becomes;
			return units[i].factor;
		}
	*ret = "samples";
	return 1;
}

static uint64_t value_of(struct speedscope *scope, struct json_in *json)
{
	double value = json_in_double(json) * scope->factor;

	if (value < 0 || value > VALUE_MAX * 1000) {
		json_in_fail(json, "a weight of 0 or more was expected");
		return 0;
	}
	return (uint64_t)(value < VALUE_MAX ? value + 0.5 : value);
}

/* The stack in `open`, root first. */
static void add_sample(struct speedscope *scope, size_t depth, uint64_t value)
{
	struct profile_sample sample = { .value = value };
	size_t root = 0;

	if (scope->by_wick && depth) { /* the root is whose it is */
		scope->full |= stack_owner(scope->profile, scope->root, &sample.comm, &sample.process) != 0;
		root = 1;
	} else if (scope->profiles > 1) {
		sample.comm = profile_bytes(scope->profile, scope->name.data, scope->name.len);
	}
	scope->stack.depth = 0;
	while (depth-- > root)
		if (stack_push(&scope->stack, scope->open[depth]))
			return; /* open has no more room than that */
	if (sample.comm && !sample.process)
		sample.process = stack_process_named(scope->profile, sample.comm);
	sample.stack = stack_node(&scope->stack, scope->profile);
	if (!span_add(&scope->sum, value)) {
		stop(scope, "the weights add up to more than can be");
	} else if (profile_add_sample(scope->profile, &sample) == PROFILE_FULL) {
		scope->full = true;
		stop(scope, "memory is out");
	} else {
		scope->count++;
	}
}

/* The number of a frame, as the model has it. */
static uint32_t frame_at(struct speedscope *scope, uint32_t *ret_name)
{
	uint64_t index = json_in_u64(&scope->json);

	if (!scope->json.bad && index >= scope->frames_len)
		stop(scope, "the number of a frame was expected, and there are fewer");
	if (scope->json.bad)
		return PROFILE_NONE;
	if (ret_name)
		*ret_name = scope->names[index];
	return scope->frames[index];
}

static size_t read_stack(struct speedscope *scope)
{
	size_t depth = 0;

	for (json_in_begin(&scope->json, '['); json_in_element(&scope->json);) {
		uint32_t frame = frame_at(scope, depth ? NULL : &scope->root);

		if (depth == STACK_DEPTH_MAX)
			stop(scope, "no more than 65536 frames were expected");
		else
			scope->open[depth++] = frame;
	}
	return depth;
}

/* Samples and weights go side by side; without weights each counts once. */
static void read_sampled(struct speedscope *scope, const struct part *part)
{
	json_in_goto(&scope->json, part->samples);
	scope->weights.depth = 0;
	json_in_goto(&scope->weights, part->weights ? part->weights : part->samples);
	if (part->weights)
		json_in_begin(&scope->weights, '[');
	for (json_in_begin(&scope->json, '['); json_in_element(&scope->json);) {
		size_t depth = read_stack(scope);
		uint64_t value = 1;

		if (part->weights && json_in_element(&scope->weights))
			value = value_of(scope, &scope->weights);
		else if (part->weights && !scope->weights.bad)
			json_in_fail(&scope->weights, "a weight for each sample was expected");
		if (scope->weights.bad) {
			json_in_goto(&scope->json, scope->weights.at);
			stop(scope, scope->weights.bad);
		}
		if (!scope->json.bad)
			add_sample(scope, depth, value);
	}
	if (part->weights && !scope->json.bad && json_in_element(&scope->weights))
		stop(scope, "no more weights than samples were expected");
}

static void read_event(struct speedscope *scope, char *ret_type, uint32_t *ret_frame, uint64_t *ret_at)
{
	struct span key;

	*ret_type = '\0';
	*ret_frame = UINT32_MAX;
	for (json_in_begin(&scope->json, '{'); json_in_key(&scope->json, &key);) {
		if (span_is(key, "type")) {
			struct span text = json_in_text(&scope->json);

			*ret_type = text.len ? text.data[0] : '\0';
		} else if (span_is(key, "frame")) {
			*ret_frame = frame_at(scope, &scope->root);
		} else if (span_is(key, "at")) {
			*ret_at = value_of(scope, &scope->json);
		} else {
			json_in_skip(&scope->json);
		}
	}
	if (!scope->json.bad && ((*ret_type != 'O' && *ret_type != 'C') || *ret_frame == UINT32_MAX))
		stop(scope, "an event with type O or C, a frame and a time was expected");
}

/* Between two events the stack is what is open. */
static void read_evented(struct speedscope *scope, const struct part *part)
{
	uint64_t last = part->start, at = part->start;
	size_t depth = 0;

	json_in_goto(&scope->json, part->events);
	for (json_in_begin(&scope->json, '['); json_in_element(&scope->json);) {
		uint32_t frame;
		char type;

		read_event(scope, &type, &frame, &at);
		if (scope->json.bad)
			return;
		if (at < last)
			stop(scope, "a time not before the last one was expected");
		else if (at > last && depth)
			add_sample(scope, depth, at - last);
		last = at;
		if (type == 'O' && depth < STACK_DEPTH_MAX)
			scope->open[depth++] = frame;
		else if (type == 'C' && depth && scope->open[depth - 1] == frame)
			depth--;
		else
			stop(scope, "the frame that was opened last was expected, or room for another");
	}
}

/* Members of a profile. Texts are copied: they are needed later. */
static struct part find_parts(struct speedscope *scope)
{
	struct part part = { 0 };
	struct json_in *json = &scope->json;
	const char *start = NULL;
	struct span key;

	buf_clear(&scope->unit);
	buf_clear(&scope->name);
	for (json_in_begin(json, '{'); json_in_key(json, &key);) {
		const char *mark = json_in_mark(json);
		bool text = json_in_peek(json) == '"';

		if (span_is(key, "type") && text) {
			part.evented = span_is(json_in_text(json), "evented");
			continue;
		}
		if ((span_is(key, "unit") || span_is(key, "name")) && text) {
			struct buf *into = span_is(key, "unit") ? &scope->unit : &scope->name;
			struct span value = json_in_text(json);

			buf_add(into, value.data, value.len);
			continue;
		}
		if (span_is(key, "samples"))
			part.samples = mark;
		else if (span_is(key, "weights"))
			part.weights = mark;
		else if (span_is(key, "events"))
			part.events = mark;
		else if (span_is(key, "startValue"))
			start = mark;
		json_in_skip(json);
	}
	if (start && !json->bad) {
		const char *back = json_in_mark(json), *becomes;

		scope->factor = factor_of((struct span){ scope->unit.data, scope->unit.len }, &becomes);
		json_in_goto(json, start);
		part.start = json_in_peek(json) == '0' ? value_of(scope, json) : 0;
		json_in_goto(json, back);
	}
	return part;
}

static struct span type_of(const struct speedscope *scope)
{
	struct span name = { scope->name.data ? scope->name.data : "", scope->name.len };
	const char *end = memmem(name.data, name.len, ": ", 2);

	return end ? (struct span){ name.data, (size_t)(end - name.data) } : name;
}

static void read_profile(struct speedscope *scope)
{
	/* What is cut off here has its beginning, and only that can be salvaged. */
	struct part part = find_parts(scope);
	struct json_in *json = &scope->json;
	const char *behind = json_in_mark(json), *cut = json->bad, *becomes;
	struct span unit = { scope->unit.data ? scope->unit.data : "none", scope->unit.data ? scope->unit.len : 4 };

	if (cut && !scope->request->salvage)
		return;
	if (!stack_type(&scope->types, scope->profile, scope->by_wick && scope->profiles > 1 ? type_of(scope) : unit))
		return;
	scope->factor = factor_of(unit, &becomes);
	profile_meta(scope->profile)->unit = profile_string(scope->profile, becomes);
	if (scope->by_wick && scope->profiles > 1)
		profile_meta(scope->profile)->event = scope->types.chosen;
	json->bad = NULL;
	if (part.evented && part.events)
		read_evented(scope, &part);
	else if (!part.evented && part.samples && (part.weights || !cut))
		read_sampled(scope, &part);
	else if (!cut)
		stop(scope, "samples, or events, were expected before here");
	if (!json->bad) {
		json_in_goto(json, behind);
		json->bad = cut;
	}
}

/* Its first pass over everything. */
static void find_members(struct speedscope *scope)
{
	struct json_in *json = &scope->json;
	struct span key;

	for (json_in_begin(json, '{'); json_in_key(json, &key);) {
		const char *mark = json_in_mark(json);

		if (span_is(key, "exporter") && json_in_peek(json) == '"') {
			scope->by_wick = span_begins(json_in_text(json), "wick@");
			continue;
		}
		if (span_is(key, "shared"))
			scope->frames_at = mark;
		else if (span_is(key, "profiles"))
			scope->profiles_at = mark;
		json_in_skip(json);
	}
	if (!json->bad) {
		json_in_peek(json);
		if (json->at < json->end)
			stop(scope, "the end of the file was expected");
	}
}

static int say(struct speedscope *scope)
{
	if (scope->full)
		return out_of_memory();
	return fail_plain(-EINVAL, "byte %zu: %s", json_in_place(&scope->json), scope->json.bad);
}

static void count_profiles(struct speedscope *scope)
{
	json_in_goto(&scope->json, scope->profiles_at);
	for (json_in_begin(&scope->json, '['); json_in_element(&scope->json) && scope->profiles < PROFILES_MAX;) {
		scope->profiles++;
		json_in_skip(&scope->json);
	}
}

static void rewind_to(struct speedscope *scope, const char *mark)
{
	scope->json.bad = NULL;
	scope->json.depth = 0;
	json_in_goto(&scope->json, mark);
}

static int read_parts(struct speedscope *scope)
{
	const char *damage, *damage_at;
	int err;

	find_members(scope);
	damage = scope->json.bad;
	damage_at = scope->json.at;
	if (damage && (!scope->request->salvage || !scope->frames_at || !scope->profiles_at))
		return say(scope);
	if (!scope->frames_at || !scope->profiles_at)
		return fail_plain(-EINVAL, "a speedscope file without %s", scope->frames_at ? "profiles" : "frames");
	rewind_to(scope, scope->profiles_at);
	count_profiles(scope);
	rewind_to(scope, scope->frames_at);
	read_frames(scope);
	if (scope->json.bad)
		return say(scope);
	rewind_to(scope, scope->profiles_at);
	for (json_in_begin(&scope->json, '['); json_in_element(&scope->json);)
		read_profile(scope);
	if (!scope->json.bad && damage) { /* behind all profiles */
		json_in_goto(&scope->json, damage_at);
		stop(scope, damage);
	}
	err = scope->json.bad ? say(scope) : 0;
	return err ? in_salvage(scope->request, err, scope->count) : 0;
}

static int finish(struct speedscope *scope)
{
	int err = stack_types_end(&scope->types, scope->profile, scope->request);

	if (!err && profile_add_counter(scope->profile, "total", "counted", scope->sum))
		return out_of_memory();
	return err;
}

int in_speedscope(struct profile **ret, const void *data, size_t len, struct in_request *request)
{
	struct speedscope scope = { .request = request, .types.wanted = request->type };
	int err = profile_new(&scope.profile);

	json_in_init(&scope.json, data, len);
	json_in_init(&scope.weights, data, len);
	scope.open = malloc(STACK_DEPTH_MAX * sizeof(*scope.open));
	err = err || !scope.open || stack_init(&scope.stack) ? out_of_memory() : read_parts(&scope);
	err = err ? err : finish(&scope);
	json_in_free(&scope.json);
	json_in_free(&scope.weights);
	stack_free(&scope.stack);
	buf_free(&scope.unit);
	buf_free(&scope.name);
	buf_free(&scope.text);
	free(scope.frames);
	free(scope.names);
	free(scope.open);
	if (err)
		profile_free(scope.profile);
	else
		*ret = scope.profile;
	return err;
}

/* An object with members, and near its beginning what only this format says. */
bool in_is_speedscope(const char *data, size_t len)
{
	return json_in_detect(data, len) &&
	       (memmem(data, len, "speedscope.app/file-format-schema", 33) ||
		(memmem(data, len, "\"shared\"", 8) && memmem(data, len, "\"frames\"", 8) &&
		 !memmem(data, len, "\"frameTable\"", 12)));
}
