/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of the page's data, in JSON: what was recorded and how, the length of every table, and how far to trust it,
 * in the words of the report. Everything in it is text that can be shown.
 */
#include "out/page_parts.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "out/advice.h"
#include "out/out.h"
#include "out/page.h"
#include "out/report.h"
#include "profile/profile.h"

static void put_string(struct json *json, const char *key, const struct profile *profile, uint32_t string)
{
	autobuf struct buf text = { 0 };

	if (!string)
		return;
	out_string(profile, string, &text);
	json_text(json, key, text.data ? text.data : "", text.len);
}

static void put_meta(struct json *json, const struct profile *profile)
{
	const struct profile_meta *meta = profile_meta(profile);

	json_u64(json, "hz", meta->hz);
	json_u64(json, "period", meta->period);
	json_u64(json, "wall_ns", meta->wall_ns);
	json_u64(json, "duration_ns", meta->duration_ns);
	json_u64(json, "cpus", meta->cpus);
	json_u64(json, "busy_us", meta->busy_user_us + meta->busy_kernel_us);
	json_u64(json, "idle_us", meta->idle_us);
	put_string(json, "event", profile, meta->event);
	put_string(json, "unit", profile, meta->unit);
	put_string(json, "host", profile, meta->host);
	put_string(json, "kernel", profile, meta->kernel);
	put_string(json, "arch", profile, meta->arch);
	put_string(json, "version", profile, meta->version);
	put_string(json, "command", profile, meta->command);
}

/* Every counter that tells of something missing: how many, what, what to do. */
static void put_problems(struct json *json, const struct profile *profile)
{
	json_array(json, "problems");
	for (uint32_t i = 1; i < profile_count(profile, PROFILE_COUNTERS); i++) {
		const struct profile_counter *counter = profile_counter(profile, i);
		const char *group = profile_text(profile, counter->group, NULL);
		const char *name = profile_text(profile, counter->name, NULL);
		const struct advice *advice = advice_find(group, name);
		autobuf struct buf what = { 0 };

		if (!counter->value || !advice_is_problem(group, name))
			continue;
		buf_adds(&what, advice->what);
		text_escape(&what, name, strlen(name), NULL);
		json_object(json, NULL);
		json_u64(json, "count", counter->value);
		json_text(json, "what", what.data ? what.data : "", what.len);
		json_text(json, "words", advice->words, strlen(advice->words));
		json_text(json, "group", group, strlen(group));
		json_end(json, '}');
	}
	json_end(json, ']');
}

static int put_quality(struct json *json, const struct profile *profile)
{
	autobuf struct buf line = { 0 };
	int err = report_quality_line(profile, &line);

	if (err)
		return err;
	json_text(json, "quality", line.data ? line.data : "", line.len);
	json_u64(json, "user_stacks", profile_counter_value(profile, "stack", "user"));
	json_u64(json, "whole_stacks", profile_counter_value(profile, "stack", "complete"));
	json_u64(json, "missed", profile_counter_value(profile, "note", "missed"));
	json_u64(json, "expected", profile_meta(profile)->expected);
	put_problems(json, profile);
	return 0;
}

static int put_profile(struct json *json, const char *key, const struct profile *profile, const char *name)
{
	int err;

	json_object(json, key);
	if (name) {
		autobuf struct buf text = { 0 };

		text_escape(&text, name, strlen(name), NULL);
		json_text(json, "name", text.data ? text.data : "", text.len);
	}
	put_meta(json, profile);
	err = put_quality(json, profile);
	json_end(json, '}');
	return err;
}

int page_head(const struct page_data *data, const struct page *page, struct buf *out)
{
	struct json json = { .out = out };
	int err;

	json_object(&json, NULL);
	json_u64(&json, "version", PAGE_VERSION);
	json_text(&json, "wick", WICK_RELEASE, strlen(WICK_RELEASE));
	json_u64(&json, "frames", data->frames_len);
	json_u64(&json, "nodes", data->nodes_len);
	json_u64(&json, "tasks", data->tasks_len);
	json_u64(&json, "rows", data->rows[0].len);
	json_u64(&json, "before_rows", data->rows[1].len);
	err = put_profile(&json, "profile", page->profile, page->names[1]);
	if (!err && page->before)
		err = put_profile(&json, "before", page->before, page->names[0]);
	json_end(&json, '}');
	return err ? err : buf_error(out);
}
