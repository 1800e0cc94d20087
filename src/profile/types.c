/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of further types, a row for each sample. In: rows of numbers, as other tools' profiles have them. Out: sums,
 * wherever samples become one. Numbers are those of two's complement: pprof's may be below zero.
 *
 * Invariant: rows exist up to the last sample that something was added to; of those behind, all values are 0.
 */
#include "profile/types.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"

static bool is_text(const struct profile *profile, uint32_t string, const char *text)
{
	return !strcmp(profile_text(profile, string, NULL), text);
}

void types_free(struct types *types)
{
	free(types->values);
	*types = (struct types){ 0 };
}

int types_set(struct profile *profile, const struct type *list, uint32_t len, uint32_t shown)
{
	struct types *types = profile_types(profile);

	if (len > TYPES_MAX || (len && shown >= len))
		return -EINVAL;
	for (uint32_t i = 0; i < len; i++)
		if (list[i].name >= profile_count(profile, PROFILE_STRINGS) ||
		    list[i].unit >= profile_count(profile, PROFILE_STRINGS))
			return -EINVAL;
	types_free(types);
	if (len)
		memcpy(types->list, list, len * sizeof(*list));
	types->len = len;
	types->shown = shown;
	return 0;
}

void types_drop(struct profile *profile)
{
	types_free(profile_types(profile));
}

static int make_room(struct types *types, size_t len)
{
	size_t cap = types->values_cap ? types->values_cap : 64;
	uint64_t *grown;

	while (cap < len)
		cap *= 2;
	if (cap > types->values_cap) {
		grown = reallocarray(types->values, cap, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		types->values = grown;
		types->values_cap = cap;
	}
	while (types->values_len < len)
		types->values[types->values_len++] = 0;
	return 0;
}

int types_add(struct profile *profile, uint32_t sample, const uint64_t *values)
{
	struct types *types = profile_types(profile);
	size_t row = (size_t)sample * types->len;

	if (types->len < 2)
		return 0;
	if (sample >= profile_count(profile, PROFILE_SAMPLES) || make_room(types, row + types->len))
		return -ENOMEM;
	for (uint32_t i = 0; i < types->len; i++)
		if (i != types->shown)
			types->values[row + i] += values[i];
	return 0;
}

uint64_t types_value(const struct profile *profile, uint32_t sample, uint32_t type)
{
	const struct types *types = profile_types(profile);
	size_t at = (size_t)sample * types->len + type;

	if (type == types->shown)
		return profile_sample(profile, sample)->value;
	return type < types->len && at < types->values_len ? types->values[at] : 0;
}

bool types_counts(const struct profile *profile, uint32_t sample)
{
	const struct types *types = profile_types(profile);

	if (profile_sample(profile, sample)->value)
		return true;
	for (uint32_t i = 0; i < types->len; i++)
		if (types_value(profile, sample, i))
			return true;
	return false;
}

uint32_t types_find(const struct profile *profile, const char *name)
{
	const struct types *types = profile_types(profile);
	uint32_t type = 0;

	while (type < types->len && !is_text(profile, types->list[type].name, name))
		type++;
	return type;
}

void types_name(struct profile *profile, uint32_t type)
{
	const struct type *chosen = &profile_types(profile)->list[type];
	struct profile_meta *meta = profile_meta(profile);

	if (is_text(profile, chosen->name, "samples") && is_text(profile, chosen->unit, "count")) {
		meta->unit = profile_string(profile, "samples");
		meta->event = meta->period_type;
	} else {
		meta->unit = chosen->unit;
		meta->event = chosen->name;
	}
}

int types_show(struct profile *profile, uint32_t type)
{
	struct types *types = profile_types(profile);
	uint64_t sum = 0, counted = profile_counter_value(profile, "total", "counted");

	if (type >= types->len)
		return -EINVAL;
	if (type == types->shown)
		return 0;
	for (uint32_t i = 1; i < profile_count(profile, PROFILE_SAMPLES); i++) {
		uint64_t value = types_value(profile, i, type);
		size_t row = (size_t)i * types->len;

		if (value > INT64_MAX || value > UINT64_MAX - sum)
			return -ERANGE;
		sum += value;
		if (make_room(types, row + types->len))
			return -ENOMEM;
	}
	for (uint32_t i = 1; i < profile_count(profile, PROFILE_SAMPLES); i++) {
		size_t row = (size_t)i * types->len;

		types->values[row + types->shown] = profile_sample(profile, i)->value;
		profile_set_value(profile, i, types->values[row + type]);
		types->values[row + type] = 0;
	}
	types->shown = type;
	types_name(profile, type);
	return profile_add_counter(profile, "total", "counted", sum - counted);
}

bool types_same_text(const struct profile *a, uint32_t left, const struct profile *b, uint32_t right)
{
	size_t left_len, right_len;
	const char *left_text = profile_text(a, left, &left_len), *right_text = profile_text(b, right, &right_len);

	return left_len == right_len && !memcmp(left_text, right_text, left_len);
}

bool types_equal(const struct profile *a, const struct profile *b)
{
	const struct types *left = profile_types(a), *right = profile_types(b);

	if (left->len != right->len || left->shown != right->shown)
		return false;
	for (uint32_t i = 0; i < left->len; i++)
		if (!types_same_text(a, left->list[i].name, b, right->list[i].name) ||
		    !types_same_text(a, left->list[i].unit, b, right->list[i].unit))
			return false;
	return true;
}
