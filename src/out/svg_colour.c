/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The colours of a flame graph, those that flamegraph.pl gives: a palette, which may choose by what a name looks like,
 * and up to three numbers from 0 to 1 made of the name. Without --hash these are the first number that Perl's rand
 * gives after the sum of the name's characters was its seed; with it, they weigh the first and the last characters.
 */
#include "out/svg_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fail.h"
#include "base/intern.h"
#include "base/text.h"
#include "out/svg.h"

#define HASHED 3 /* characters that --hash weighs */

struct name {
	const char *text;
	size_t len;
};

struct svg_map {
	struct intern *names;
	struct intern *colours;
	uint32_t *of; /* name -> colour */
	size_t cap;
};

/* A channel is base + a part of range; `by` is the number that says which part. */
struct channel {
	unsigned char base, range, by;
};

static const struct palette {
	const char *name;
	struct channel rgb[3];
} palettes[] = {
	{ "hot", { { 205, 50, 1 }, { 0, 230, 0 }, { 0, 55, 1 } } },
	{ "mem", { { 0, 0, 0 }, { 190, 50, 1 }, { 0, 210, 0 } } },
	{ "io", { { 80, 60, 0 }, { 80, 60, 0 }, { 190, 55, 1 } } },
	{ "red", { { 200, 55, 0 }, { 50, 80, 0 }, { 50, 80, 0 } } },
	{ "green", { { 50, 60, 0 }, { 200, 55, 0 }, { 50, 60, 0 } } },
	{ "blue", { { 80, 60, 0 }, { 80, 60, 0 }, { 205, 50, 0 } } },
	{ "yellow", { { 175, 55, 0 }, { 175, 55, 0 }, { 50, 20, 0 } } },
	{ "purple", { { 190, 65, 0 }, { 80, 60, 0 }, { 190, 65, 0 } } },
	{ "aqua", { { 50, 60, 0 }, { 165, 55, 0 }, { 165, 55, 0 } } },
	{ "orange", { { 190, 65, 0 }, { 90, 65, 0 }, { 0, 0, 0 } } },
};

#define PALETTES (sizeof(palettes) / sizeof(*palettes))

static bool is(struct name name, const char *word)
{
	return name.len == strlen(word) && !memcmp(name.text, word, name.len);
}

static bool has(struct name name, const char *part)
{
	return memmem(name.text, name.len, part, strlen(part)) != NULL;
}

static bool ends(struct name name, const char *end)
{
	size_t len = strlen(end);

	return name.len >= len && !memcmp(name.text + name.len - len, end, len);
}

/* ^L?(java|javax|...)/ */
static bool begins_with_package(struct name name)
{
	static const char *const packages[] = { "java/", "javax/", "jdk/", "net/", "org/", "com/", "io/", "sun/" };

	for (size_t skip = 0; skip < 2 && skip <= name.len; skip++) {
		if (skip && name.text[0] != 'L')
			break;
		for (size_t i = 0; i < sizeof(packages) / sizeof(*packages); i++) {
			size_t len = strlen(packages[i]);

			if (name.len - skip >= len && !memcmp(name.text + skip, packages[i], len))
				return true;
		}
	}
	return false;
}

/* /.*\.js */
static bool has_script(struct name name)
{
	const char *slash = memchr(name.text, '/', name.len);

	return slash && memmem(slash, (size_t)(name.text + name.len - slash), ".js", 3);
}

static const char *java(struct name name)
{
	if (ends(name, "_[j]"))
		return "green";
	if (ends(name, "_[i]"))
		return "aqua";
	if (begins_with_package(name) || has(name, ":::"))
		return "green";
	if (has(name, "::"))
		return "yellow";
	return ends(name, "_[k]") ? "orange" : "red";
}

static const char *perl(struct name name)
{
	if (has(name, "::"))
		return "yellow";
	if (has(name, "Perl") || has(name, ".pl"))
		return "green";
	return ends(name, "_[k]") ? "orange" : "red";
}

static const char *js(struct name name)
{
	if (ends(name, "_[j]"))
		return has(name, "/") ? "green" : "aqua";
	if (has(name, "::"))
		return "yellow";
	if (has_script(name))
		return "green";
	if (has(name, ":"))
		return "aqua";
	if (is(name, " "))
		return "green";
	return has(name, "_[k]") ? "orange" : "red";
}

static const char *wakeup(struct name name)
{
	(void)name;
	return "aqua";
}

static const char *chain(struct name name)
{
	return has(name, "_[w]") ? "aqua" : "blue";
}

/* Palettes that choose another by the name. */
static const struct chooser {
	const char *name;
	const char *(*choose)(struct name name);
} choosers[] = { { "java", java }, { "perl", perl }, { "js", js }, { "wakeup", wakeup }, { "chain", chain } };

#define CHOOSERS (sizeof(choosers) / sizeof(*choosers))

static const struct palette *find_palette(const char *colours, struct name name)
{
	for (size_t i = 0; i < CHOOSERS; i++)
		if (!strcmp(choosers[i].name, colours))
			colours = choosers[i].choose(name);
	for (size_t i = 0; i < PALETTES; i++)
		if (!strcmp(palettes[i].name, colours))
			return &palettes[i];
	return NULL;
}

bool svg_has_palette(const char *colours)
{
	return find_palette(colours, (struct name){ "", 0 }) != NULL;
}

/* The character at the start, or at the end, and its bytes. The text is valid UTF-8. */
static size_t character(struct name name, bool last, uint32_t *ret)
{
	size_t size = 1;

	while (last && size < 4 && size < name.len && (name.text[name.len - size] & 0xc0) == 0x80)
		size++;
	*ret = 0;
	size = text_utf8(last ? name.text + name.len - size : name.text, last ? size : name.len, ret);
	return size ? size : 1;
}

/* drand48, one step from the seed. */
static double first_random(struct name name)
{
	uint64_t state;
	uint32_t sum = 0, code;

	for (size_t at = 0; at < name.len;) {
		at += character((struct name){ name.text + at, name.len - at }, false, &code);
		sum += code;
	}
	state = ((uint64_t)sum << 16 | 0x330e) * 0x5deece66dULL + 0xb;
	return (double)(state & 0xffffffffffffULL) / (double)(1ULL << 48);
}

/* Without the module before a backtick, which is not the first character. */
static struct name without_module(struct name name, bool backwards)
{
	const char *tick;
	uint32_t code;
	size_t first = name.len ? character(name, backwards, &code) : 0;

	if (backwards) {
		tick = memrchr(name.text, '`', name.len - first);
		return tick ? (struct name){ name.text, (size_t)(tick - name.text) } : name;
	}
	tick = memchr(name.text + first, '`', name.len - first);
	return tick ? (struct name){ tick + 1, name.len - (size_t)(tick + 1 - name.text) } : name;
}

static double weigh(struct name name, bool backwards)
{
	double vector = 0, weight = 1, greatest = 1;

	name = without_module(name, backwards);
	for (unsigned int i = 0; i < HASHED && name.len; i++) {
		uint32_t code, modulus = 10 + i;
		size_t size = character(name, backwards, &code);

		vector += (double)(code % modulus) / (modulus - 1) * weight;
		greatest += weight;
		weight *= 0.70;
		name.text += backwards ? 0 : size;
		name.len -= size;
	}
	return 1 - vector / greatest;
}

static void colour_by_palette(const struct svg_options *options, struct name name, char ret[SVG_RGB_LEN])
{
	const struct palette *palette = find_palette(options->colors, name);
	double by[2];
	int rgb[3];

	if (options->hash) {
		by[0] = weigh(name, false);
		by[1] = weigh(name, true);
	} else {
		by[0] = by[1] = first_random(name);
	}
	for (int i = 0; i < 3; i++) {
		const struct channel *channel = &palette->rgb[i];

		rgb[i] = channel->base + (int)(channel->range * by[channel->by]);
	}
	snprintf(ret, SVG_RGB_LEN, "rgb(%d,%d,%d)", rgb[0], rgb[1], rgb[2]);
}

static const char *map_find(const struct svg_map *map, uint32_t name)
{
	return name < map->cap && map->of[name] ? intern_get(map->colours, map->of[name], NULL) : NULL;
}

static int map_set(struct svg_map *map, uint32_t name, const char *colour, size_t len)
{
	size_t cap = map->cap ? map->cap : 256;
	uint32_t number = intern_bytes(map->colours, colour, len), *of;

	while (cap <= name)
		cap *= 2;
	if (name == UINT32_MAX || number == UINT32_MAX)
		return -ENOMEM;
	if (cap > map->cap) {
		of = reallocarray(map->of, cap, sizeof(*of));
		if (!of)
			return -ENOMEM;
		memset(of + map->cap, 0, (cap - map->cap) * sizeof(*of));
		map->of = of;
		map->cap = cap;
	}
	map->of[name] = number;
	return 0;
}

static int colour_by_map(const struct svg_options *options, struct name name, char ret[SVG_RGB_LEN])
{
	uint32_t number = intern_bytes(options->map->names, name.text, name.len);
	const char *kept = number == UINT32_MAX ? NULL : map_find(options->map, number);

	if (kept) {
		snprintf(ret, SVG_RGB_LEN, "%s", kept);
		return 0;
	}
	colour_by_palette(options, name, ret);
	return map_set(options->map, number, ret, strlen(ret));
}

int svg_colour(const struct svg_options *options, const char *label, size_t len, bool waker, char ret[SVG_RGB_LEN])
{
	autobuf struct buf annotated = { 0 };
	struct name name = { label, len };

	if (is(name, "--") || is(name, "-")) {
		strcpy(ret, is(name, "-") ? "rgb(200,200,200)" : "rgb(160,160,160)");
		return 0;
	}
	if (waker) {
		buf_add(&annotated, label, len);
		buf_adds(&annotated, "_[w]");
		if (buf_error(&annotated))
			return -ENOMEM;
		name = (struct name){ annotated.data, annotated.len };
	}
	if (options->map)
		return colour_by_map(options, name, ret);
	colour_by_palette(options, name, ret);
	return 0;
}

void svg_colour_change(const struct svg_options *options, int64_t delta, uint64_t max_delta, char ret[SVG_RGB_LEN])
{
	double value = (double)delta, max = (double)max_delta;
	int fade;

	value = options->negate ? -value : value;
	fade = (int)(210 * (value > 0 ? max - value : max + value) / max);
	if (value > 0)
		snprintf(ret, SVG_RGB_LEN, "rgb(255,%d,%d)", fade, fade);
	else if (value < 0)
		snprintf(ret, SVG_RGB_LEN, "rgb(%d,%d,255)", fade, fade);
	else
		strcpy(ret, "rgb(255,255,255)");
}

static const char *usual_background(const char *colours)
{
	if (!strcmp(colours, "mem"))
		return "green";
	if (!strcmp(colours, "io") || !strcmp(colours, "wakeup") || !strcmp(colours, "chain"))
		return "blue";
	if (!strcmp(colours, "hot") || !strcmp(colours, "java") || !strcmp(colours, "js") || !strcmp(colours, "perl"))
		return "yellow";
	return "grey";
}

int svg_background(const struct svg_options *options, const char *ret[2])
{
	static const struct {
		const char *name, *from, *to;
	} backgrounds[] = {
		{ "yellow", "#eeeeee", "#eeeeb0" },
		{ "blue", "#eeeeee", "#e0e0ff" },
		{ "green", "#eef2ee", "#e0ffe0" },
		{ "grey", "#f8f8f8", "#e8e8e8" },
	};
	const char *asked = options->bgcolors ? options->bgcolors : usual_background(options->colors);

	for (size_t i = 0; i < sizeof(backgrounds) / sizeof(*backgrounds); i++)
		if (!strcmp(backgrounds[i].name, asked)) {
			ret[0] = backgrounds[i].from;
			ret[1] = backgrounds[i].to;
			return 0;
		}
	ret[0] = ret[1] = asked;
	return asked[0] == '#' && strlen(asked) == 7 && strspn(asked + 1, "0123456789abcdefABCDEF") == 6 ? 0 : -EINVAL;
}

int svg_map_new(struct svg_map **ret)
{
	struct svg_map *map = calloc(1, sizeof(*map));
	int err = map ? intern_new(&map->names) : -ENOMEM;

	err = err ? err : intern_new(&map->colours);
	if (err)
		svg_map_free(map);
	else
		*ret = map;
	return err;
}

void svg_map_free(struct svg_map *map)
{
	if (!map)
		return;
	intern_free(map->names);
	intern_free(map->colours);
	free(map->of);
	free(map);
}

/* Nothing that could be more than a colour: it goes into the file as it is. */
static bool is_colour(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEF0123456789#(),.%", text[i]) || !text[i])
			return false;
	return len && len < SVG_RGB_LEN;
}

static int read_row(struct svg_map *map, const char *line, size_t len, size_t number)
{
	const char *arrow = NULL;
	uint32_t name;

	while (len && (line[len - 1] == '\r' || line[len - 1] == ' '))
		len--;
	for (size_t i = 0; i + 1 < len; i++) /* the last one: names may have some */
		if (line[i] == '-' && line[i + 1] == '>')
			arrow = line + i;
	if (!len)
		return 0;
	if (!arrow || !is_colour(arrow + 2, (size_t)(line + len - arrow - 2)))
		return fail_plain(-EINVAL, "line %zu: it is not NAME->rgb(R,G,B)", number);
	name = intern_bytes(map->names, line, (size_t)(arrow - line));
	return map_set(map, name, arrow + 2, (size_t)(line + len - arrow - 2));
}

int svg_map_read(struct svg_map *map, const char *data, size_t len)
{
	const char *end = data + len;
	int err = 0;

	for (size_t number = 1; data < end && !err; number++) {
		const char *line = data, *newline = memchr(data, '\n', (size_t)(end - data));

		data = newline ? newline + 1 : end;
		err = read_row(map, line, (size_t)((newline ? newline : end) - line), number);
	}
	return err;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int svg_map_write(const struct svg_map *map, struct buf *out)
{
	uint32_t count = intern_count(map->names), len = 0;
	autofree const char **names = calloc(count, sizeof(*names));

	if (!names)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		if (map_find(map, i))
			names[len++] = intern_get(map->names, i, NULL);
	qsort(names, len, sizeof(*names), compare_names);
	for (uint32_t i = 0; i < len; i++)
		buf_addf(out, "%s->%s\n", names[i], map_find(map, intern_text(map->names, names[i])));
	return buf_error(out);
}
