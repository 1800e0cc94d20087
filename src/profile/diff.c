/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds two profiles up by function and says how sure the difference is. In: profiles, and how their frames are called.
 * Out: each function once, with the samples of both. The time is that of the two trees: a node's total is found from
 * its children, and one walk over the tree counts a function once in a stack, however often it is in it.
 *
 * The interval. Counts of samples are Poisson; given how many samples there are in all, the count of one function is
 * binomial. Wilson's score interval holds for each share, at 0 and at 1 too, where the usual ± says nothing;
 * Newcombe's rule makes one interval of the difference of the two (method 10 of "Interval estimation for the
 * difference between independent proportions", 1998).
 */
#include "profile/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fail.h"
#include "base/intern.h"
#include "profile/profile.h"

#define Z 1.959963984540054 /* of the normal distribution, for 95 % */
#define SEPARATOR '\0'      /* between name and module: in no text of either */

struct diff_memory {
	struct intern *functions; /* name, separator, module */
};

/* A node of one profile, on the way to its total. */
struct place {
	uint64_t total;
	uint32_t first, next; /* its first child, its next sibling */
};

struct sums {
	struct place *places;  /* by node */
	uint32_t *function_of; /* by frame */
	uint32_t *active;      /* by function: how often it is on the path */
};

void diff_free(struct diff *diff)
{
	free(diff->functions);
	if (diff->memory)
		intern_free(diff->memory->functions);
	free(diff->memory);
	*diff = (struct diff){ 0 };
}

static const char *unit_of(const struct profile *profile)
{
	uint32_t unit = profile_meta(profile)->unit;

	return unit ? profile_text(profile, unit, NULL) : "samples";
}

static int check_units(struct diff *diff, const struct profile *before, const struct profile *after)
{
	if (strcmp(unit_of(before), unit_of(after)) != 0)
		return fail_plain(-EINVAL, "values in '%s' cannot be compared with values in '%s'", unit_of(before),
				  unit_of(after));
	diff->counts = !strcmp(unit_of(before), "samples") || !strcmp(unit_of(before), "count");
	return 0;
}

static int name_frames(struct diff *diff, const struct profile *profile, diff_text *name, diff_text *module,
		       struct sums *sums)
{
	uint32_t count = profile_count(profile, PROFILE_FRAMES);
	autobuf struct buf text = { 0 };

	for (uint32_t i = 0; i < count; i++) {
		buf_clear(&text);
		name(profile, i, &text);
		buf_addc(&text, SEPARATOR);
		module(profile, i, &text);
		if (buf_error(&text))
			return -ENOMEM;
		sums->function_of[i] = intern_bytes(diff->memory->functions, text.data, text.len);
		if (sums->function_of[i] == UINT32_MAX)
			return -ENOMEM;
	}
	return 0;
}

/* Room for those that have come, all zero at first. */
static int grow_functions(struct diff *diff)
{
	uint32_t count = intern_count(diff->memory->functions);
	struct diff_function *grown = reallocarray(diff->functions, count, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	memset(grown + diff->len, 0, (count - diff->len) * sizeof(*grown));
	for (uint32_t i = diff->len ? diff->len : 1; i < count; i++) {
		grown[i].name = intern_get(diff->memory->functions, i, NULL);
		grown[i].module = grown[i].name + strlen(grown[i].name) + 1;
	}
	diff->functions = grown;
	diff->len = count;
	return 0;
}

/* A parent has a smaller number than its children: one pass downwards adds everything up. */
static void add_up(const struct profile *profile, struct sums *sums)
{
	const struct profile_node *nodes = profile_node(profile, 0);

	for (uint32_t i = profile_count(profile, PROFILE_NODES) - 1; i; i--) {
		struct place *parent = &sums->places[nodes[i].parent];

		parent->total += sums->places[i].total;
		sums->places[i].next = parent->first;
		parent->first = i;
	}
}

/* Down and up again without recursion: stacks may be as deep as a file says. */
static void walk(struct diff *diff, const struct profile *profile, enum diff_side side, struct sums *sums)
{
	const struct profile_node *nodes = profile_node(profile, 0);
	uint32_t at = sums->places[0].first;

	while (at) {
		uint32_t function = sums->function_of[nodes[at].frame];

		if (!sums->active[function]++)
			diff->functions[function].total[side] += sums->places[at].total;
		if (sums->places[at].first) {
			at = sums->places[at].first;
			continue;
		}
		for (;;) {
			sums->active[sums->function_of[nodes[at].frame]]--;
			if (sums->places[at].next) {
				at = sums->places[at].next;
				break;
			}
			at = nodes[at].parent;
			if (!at)
				return;
		}
	}
}

static void add_samples(struct diff *diff, const struct profile *profile, enum diff_side side, struct sums *sums)
{
	for (uint32_t i = 1; i < profile_count(profile, PROFILE_SAMPLES); i++) {
		const struct profile_sample *sample = profile_sample(profile, i);
		uint32_t function = sums->function_of[profile_node(profile, sample->stack)->frame];

		diff->sums[side] += sample->value;
		diff->functions[function].self[side] += sample->value;
		if (!sample->stack)
			diff->functions[function].total[side] += sample->value;
		else
			sums->places[sample->stack].total += sample->value;
	}
}

static int add_profile(struct diff *diff, const struct profile *profile, enum diff_side side, diff_text *name,
		       diff_text *module)
{
	autofree struct place *places = calloc(profile_count(profile, PROFILE_NODES), sizeof(*places));
	autofree uint32_t *function_of = calloc(profile_count(profile, PROFILE_FRAMES), sizeof(*function_of));
	autofree uint32_t *active = NULL;
	struct sums sums = { places, function_of, NULL };
	int err = places && function_of ? 0 : -ENOMEM;

	err = err ? err : name_frames(diff, profile, name, module, &sums);
	err = err ? err : grow_functions(diff);
	if (err)
		return err;
	sums.active = active = calloc(diff->len, sizeof(*active));
	if (!active)
		return -ENOMEM;
	add_samples(diff, profile, side, &sums);
	add_up(profile, &sums);
	walk(diff, profile, side, &sums);
	return 0;
}

int diff_init(struct diff *diff, const struct profile *before, const struct profile *after, diff_text *name,
	      diff_text *module)
{
	int err;

	*diff = (struct diff){ 0 };
	err = check_units(diff, before, after);
	if (err)
		return err;
	diff->memory = calloc(1, sizeof(*diff->memory));
	err = diff->memory ? intern_new(&diff->memory->functions) : -ENOMEM;
	err = err ? err : add_profile(diff, before, DIFF_BEFORE, name, module);
	err = err ? err : add_profile(diff, after, DIFF_AFTER, name, module);
	return err ? fail(err, "comparing profiles") : 0;
}

struct share {
	double is, low, high;
};

static struct share wilson(uint64_t count, uint64_t sum)
{
	double n = (double)sum, p = sum ? (double)count / n : 0, centre, half;

	if (!sum) /* nothing is known of it */
		return (struct share){ 0, 0, 1 };
	centre = (p + Z * Z / (2 * n)) / (1 + Z * Z / n);
	half = Z / (1 + Z * Z / n) * sqrt(p * (1 - p) / n + Z * Z / (4 * n * n));
	/* At both ends the bound is the end itself, but for rounding. */
	return (struct share){ p, count ? centre - half : 0, count < sum ? centre + half : 1 };
}

struct diff_change diff_change(const struct diff *diff, const uint64_t counts[DIFF_SIDES])
{
	struct share before = wilson(counts[DIFF_BEFORE], diff->sums[DIFF_BEFORE]);
	struct share after = wilson(counts[DIFF_AFTER], diff->sums[DIFF_AFTER]);
	double points = after.is - before.is;

	return (struct diff_change){
		.points = 100 * points,
		.low = 100 * (points - hypot(after.is - after.low, before.high - before.is)),
		.high = 100 * (points + hypot(after.high - after.is, before.is - before.low)),
	};
}
