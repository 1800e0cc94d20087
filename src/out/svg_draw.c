/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a flame graph as SVG: a picture that needs no script, and behind it the script that makes it answer. In: the
 * layout. Out: one file that asks for nothing else.
 *
 * The measures are those of flamegraph.pl, so that rectangles come out the same; what it does not have, the lines
 * below, makes the picture higher and moves nothing. Text from outside passes svg_harmless and svg_escape.
 */
#include "out/svg_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/columns.h"
#include "base/intern.h"
#include "base/text.h"
#include "out/report.h"
#include "out/svg.h"
#include "profile/profile.h"

#define FRAME_GAP 1  /* between rows */
#define TEXT_INSET 3 /* of a name in its frame */
#define TEXT_LEAST 3 /* characters of a name that are worth showing */
#define MARK_LEN 4   /* _[k] */
#define TOO_FAR 1e15 /* pixels */
#define MOST_SHOWN 1e18
#define DOT " · "

static const char style[] =
#include "out/svg.css.inc"
	;
static const char script[] =
#include "out/svg.js.inc"
	;

struct picture {
	const struct svg_layout *layout;
	const struct svg_tree *tree;
	const struct svg_options *options;
	const char *countname;
	unsigned width;
	double top, bottom; /* above the frames, below them */
	double height;      /* down to the line of details; what is below is ours */
	double scale;       /* pixels a sample */
	struct buf text;    /* scratch */
	struct buf *out;
};

void svg_escape(struct buf *out, const char *text, size_t len)
{
	size_t from = 0;

	for (size_t i = 0; i < len; i++) {
		const char *entity = text[i] == '&'   ? "&amp;"
				     : text[i] == '<' ? "&lt;"
				     : text[i] == '>' ? "&gt;"
				     : text[i] == '"' ? "&quot;"
						      : NULL;

		if (!entity)
			continue;
		buf_add(out, text + from, i - from);
		buf_adds(out, entity);
		from = i + 1;
	}
	buf_add(out, text + from, len - from);
}

/* Text that somebody typed. */
static void add_typed(struct picture *picture, const char *text)
{
	buf_clear(&picture->text);
	svg_harmless(&picture->text, text, strlen(text));
	if (picture->text.len)
		svg_escape(picture->out, picture->text.data, picture->text.len);
}

/* The same, as much of it as has room. */
static void add_fitting(struct picture *picture, const char *text, double room, double fontsize)
{
	struct buf cut = { 0 };
	double columns = room / (fontsize * picture->options->fontwidth);

	buf_clear(&picture->text);
	svg_harmless(&picture->text, text, strlen(text));
	columns_add(&cut, picture->text.data, picture->text.len, columns > 0 ? (size_t)columns : 0);
	svg_escape(picture->out, cut.data, cut.len);
	buf_free(&cut);
}

static size_t without_mark(const char *label, size_t len)
{
	const char *end = label + len - MARK_LEN;

	return len >= MARK_LEN && end[0] == '_' && end[1] == '[' && memchr("kwij", end[2], 4) && end[3] == ']'
		       ? len - MARK_LEN
		       : len;
}

/* Tenths of a pixel, rounded as printf rounds %.1f: by what the number is, not by what it is times ten. */
static int64_t tenths(double x)
{
	double times = x < TOO_FAR ? x * 10 : TOO_FAR; /* counts of a hostile file may add up to anything */
	int64_t whole = (int64_t)times;
	double rest = times - (double)whole;
	char exact[64];

	if (rest != 0.5)
		return whole + (rest > 0.5);
	snprintf(exact, sizeof(exact), "%.1f", x);
	return (int64_t)(strtod(exact, NULL) * 10 + 0.5);
}

/* A count as it is shown. */
static uint64_t shown(const struct picture *picture, uint64_t count)
{
	double times = (double)count * picture->options->factor;

	if (picture->options->factor == 1)
		return count;
	return times < MOST_SHOWN ? (uint64_t)rint(times) : (uint64_t)MOST_SHOWN;
}

static void add_percent(struct picture *picture, double part, bool sign)
{
	buf_addf(picture->out, "%s%.2f%%", sign && part > 0 ? "+" : "", 100 * part / (double)picture->layout->total);
}

static void add_title(struct picture *picture, const struct svg_frame *frame, const char *name, size_t len)
{
	buf_adds(picture->out, "<title>");
	if (frame->depth)
		svg_escape(picture->out, name, len);
	else
		buf_adds(picture->out, "all");
	buf_adds(picture->out, " (");
	text_thousands(picture->out, shown(picture, frame->value));
	buf_addc(picture->out, ' ');
	buf_adds(picture->out, picture->countname);
	buf_adds(picture->out, ", ");
	if (!frame->depth)
		buf_adds(picture->out, "100%");
	else
		add_percent(picture, (double)shown(picture, frame->value) / picture->options->factor, false);
	if (frame->depth && picture->tree->before) {
		buf_adds(picture->out, "; ");
		add_percent(picture,
			    picture->options->negate && frame->delta ? -(double)frame->delta : (double)frame->delta,
			    true);
	}
	buf_adds(picture->out, ")</title>");
}

/* From its top to its foot; the gap is at the side that points to the leaves. */
static void find_rows(const struct picture *picture, uint32_t depth, double *ret_top, double *ret_foot)
{
	double height = picture->options->height;

	if (picture->options->inverted) {
		*ret_top = picture->top + depth * height;
		*ret_foot = picture->top + (depth + 1) * height - FRAME_GAP;
	} else {
		*ret_top = picture->height - picture->bottom - (depth + 1) * height + FRAME_GAP;
		*ret_foot = picture->height - picture->bottom - depth * height;
	}
}

static void add_name(struct picture *picture, const char *name, size_t len, double from, double to, double baseline)
{
	double room = (to - from - 2 * TEXT_INSET) / (picture->options->fontsize * picture->options->fontwidth);

	if (room < TEXT_LEAST)
		return;
	buf_addf(picture->out, "<text x=\"%.2f\" y=\"%.15g\">", from + TEXT_INSET, baseline);
	buf_clear(&picture->text);
	columns_add(&picture->text, name, len, (size_t)room);
	svg_escape(picture->out, picture->text.data, picture->text.len);
	buf_adds(picture->out, "</text>");
}

/* Whether black on it would be hard to read: a contrast below 4.5, with squares for the curve of sRGB. */
static bool is_dark(const char *rgb)
{
	int red = 0, green = 0, blue = 0;

	/* A colour of a map that is written in another way is as light as most are. */
	return sscanf(rgb, "rgb(%d,%d,%d)", &red, &green, &blue) == 3 &&
	       0.2126 * red * red + 0.7152 * green * green + 0.0722 * blue * blue < 0.18 * 255 * 255;
}

static int add_frame(struct picture *picture, const struct svg_frame *frame)
{
	const struct svg_options *options = picture->options;
	double from = SVG_XPAD + (double)frame->start * picture->scale;
	double to = SVG_XPAD + (double)(frame->start + frame->value) * picture->scale, top, foot;
	int64_t left = tenths(from), width = tenths(to) - left;
	char colour[SVG_RGB_LEN], text[256];
	size_t len, bare;
	const char *label = intern_get(picture->tree->labels, frame->label, &len);
	bool dash = len && len <= 2 && !memcmp(label, "--", len);
	int err = 0;

	if (picture->tree->before && !dash)
		svg_colour_change(options, frame->delta, picture->layout->max_delta, colour);
	else
		err = svg_colour(options, label, len, frame->waker, colour);
	bare = frame->waker ? len : without_mark(label, len); /* a waker has one more, which is not shown */
	find_rows(picture, frame->depth, &top, &foot);
	len = (size_t)snprintf(text, sizeof(text), "<g%s data-s=\"%" PRIu64 "\" data-n=\"%" PRIu64 "\">",
			       is_dark(colour) ? " class=\"dark\"" : "", frame->start, frame->value);
	buf_add(picture->out, text, len);
	add_title(picture, frame, label, bare);
	len = (size_t)snprintf(text, sizeof(text),
			       "<rect x=\"%" PRId64 ".%d\" y=\"%.15g\" width=\"%" PRId64
			       ".%d\" height=\"%.1f\" fill=\"%s\" rx=\"2\" ry=\"2\"/>",
			       left / 10, (int)(left % 10), top, width / 10, (int)(width % 10), foot - top, colour);
	buf_add(picture->out, text, len);
	if (frame->depth)
		add_name(picture, label, bare, from, to, TEXT_INSET + (top + foot) / 2);
	else
		add_name(picture, "all", 3, from, to, TEXT_INSET + (top + foot) / 2);
	buf_adds(picture->out, "</g>\n");
	return err;
}

/* How far to trust it, and what is not drawn, in as many lines as the width asks for. */
static int make_foot(const struct picture *picture, const struct profile *profile, struct buf *ret)
{
	const struct svg_options *options = picture->options;
	double columns = (picture->width - 2 * SVG_XPAD) / (options->fontsize * options->fontwidth);
	struct buf line = { 0 };
	int err = report_quality_line(profile, &line);

	if (picture->layout->narrow) {
		buf_adds(&line, DOT);
		text_thousands(&line, picture->layout->narrow);
		buf_addf(&line, " frame%s narrower than %g%s not drawn", picture->layout->narrow == 1 ? "" : "s",
			 options->minwidth, options->minwidth_share ? " %" : " px");
	}
	err = err ? err : buf_error(&line);
	if (!err)
		columns_wrap(ret, line.data, 0, columns > 10 ? (size_t)columns : 10, 0);
	buf_free(&line);
	return err ? err : buf_error(ret);
}

static size_t count_lines(const char *text)
{
	size_t lines = 1;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

static void add_foot(struct picture *picture, const char *lines)
{
	buf_addf(picture->out, "<text id=\"foot\" x=\"%d\" y=\"%.15g\">", SVG_XPAD, picture->height);
	while (*lines) {
		size_t len = strcspn(lines, "\n");

		buf_addf(picture->out, "<tspan x=\"%d\" dy=\"%.15g\">", SVG_XPAD, picture->options->fontsize * 1.5);
		svg_escape(picture->out, lines, len);
		buf_adds(picture->out, "</tspan>\n");
		lines += len + (lines[len] != 0);
	}
	buf_adds(picture->out, "</text>\n");
}

static void add_attribute(struct picture *picture, const char *name, const char *text)
{
	buf_addf(picture->out, " %s=\"", name);
	add_typed(picture, text);
	buf_addc(picture->out, '"');
}

static void open_picture(struct picture *picture, double height)
{
	const struct svg_options *options = picture->options;
	const char *background[2];

	svg_background(options, background);
	buf_addf(picture->out,
		 "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n"
		 "<svg version=\"1.1\" width=\"%u\" height=\"%.15g\" viewBox=\"0 0 %u %.15g\" "
		 "xmlns=\"http://www.w3.org/2000/svg\" aria-labelledby=\"title\" data-height=\"%.15g\"",
		 picture->width, height, picture->width, height, picture->height);
	add_attribute(picture, "data-nametype", options->nametype);
	buf_addf(picture->out, "%s%s%s>\n", options->width ? " data-fixed=\"\"" : "",
		 options->inverted ? " data-inverted=\"\"" : "", options->bgcolors ? "" : " class=\"follows\"");
	if (options->notes) {
		buf_adds(picture->out, "<desc>NOTES: ");
		add_typed(picture, options->notes);
		buf_adds(picture->out, "</desc>\n");
	}
	buf_addf(picture->out,
		 "<defs><linearGradient id=\"background\" y1=\"0\" y2=\"1\" x1=\"0\" x2=\"0\">"
		 "<stop stop-color=\"%s\" offset=\"5%%\"/><stop stop-color=\"%s\" offset=\"95%%\"/>"
		 "</linearGradient></defs>\n<style>\ntext, input { font-family: %s; font-size: %.15gpx; }\n"
		 "#title { font-size: %.15gpx; }\nsvg:root { background: %s; }\n",
		 background[0], background[1], options->fonttype, options->fontsize, options->fontsize + 5,
		 background[1]);
	buf_adds(picture->out, style);
	buf_addf(picture->out,
		 "</style>\n<rect id=\"ground\" width=\"100%%\" height=\"100%%\" fill=\"url(#background)\"/>\n");
}

static void add_texts(struct picture *picture)
{
	const struct svg_options *options = picture->options;
	double size = options->fontsize, room = picture->width - 2.0 * SVG_XPAD;
	const char *title = options->title ? options->title : options->inverted ? "Icicle Graph" : "Flame Graph";

	buf_addf(picture->out, "<g id=\"head\"><rect width=\"100%%\" height=\"%.15g\"/>\n", picture->top - FRAME_GAP);
	buf_addf(picture->out, "<text id=\"title\" x=\"%u\" y=\"%.15g\"", picture->width / 2, 2 * size);
	add_attribute(picture, "data-text", title);
	buf_addc(picture->out, '>');
	add_fitting(picture, title, room, size + 5);
	buf_adds(picture->out, "</text>\n");
	buf_addf(picture->out,
		 "<text id=\"unzoom\" class=\"button hide\" x=\"%d\" y=\"%.15g\">Reset Zoom</text>\n"
		 "<text id=\"search\" class=\"button hide\" x=\"%u\" y=\"%.15g\">Search</text>\n"
		 "<text id=\"ignorecase\" class=\"button hide\" x=\"%u\" y=\"%.15g\">ic"
		 "<title>Ignore case</title></text></g>\n",
		 SVG_XPAD, 2 * size, picture->width - SVG_XPAD - 30, 2 * size, picture->width - SVG_XPAD, 2 * size);
	if (options->subtitle && *options->subtitle) {
		/* With the root on top the classic measures leave room for it at the foot only. */
		buf_addf(picture->out, "<text id=\"subtitle\" x=\"%u\" y=\"%.15g\"", picture->width / 2,
			 options->inverted ? picture->height - picture->bottom - size / 2 : 4 * size);
		add_attribute(picture, "data-text", options->subtitle);
		buf_addc(picture->out, '>');
		add_fitting(picture, options->subtitle, room, size);
		buf_adds(picture->out, "</text>\n");
	}
	buf_addf(picture->out, "<g id=\"tail\"><rect width=\"100%%\" y=\"%.15g\" height=\"%.15g\"/>\n",
		 picture->height - picture->bottom + FRAME_GAP, picture->bottom - FRAME_GAP);
	buf_addf(picture->out, "<text id=\"details\" x=\"%d\" y=\"%.15g\"> </text>\n", SVG_XPAD,
		 picture->height - picture->bottom / 2);
	buf_addf(picture->out, "<text id=\"matched\" class=\"hide\" x=\"%u\" y=\"%.15g\"> </text></g>\n",
		 picture->width - SVG_XPAD, picture->height - picture->bottom / 2);
}

static void measure(struct picture *picture)
{
	const struct svg_options *options = picture->options;
	double size = options->fontsize;

	picture->width = options->width ? options->width : SVG_WIDTH;
	picture->top = 3 * size;
	picture->bottom = 2 * size + 10;
	picture->height = (picture->layout->depth + 1.0) * options->height + picture->top + picture->bottom;
	if (options->subtitle && *options->subtitle)
		picture->height += 2 * size;
	if (picture->layout->total)
		picture->scale = (picture->width - 2.0 * SVG_XPAD) / (double)picture->layout->total;
}

/* What is counted, escaped once for all titles. */
static int name_count(struct picture *picture, const struct profile *profile, struct buf *ret)
{
	uint32_t unit = profile_meta(profile)->unit;
	const char *name = picture->options->countname;

	if (!name)
		name = unit ? profile_text(profile, unit, NULL) : "samples";
	buf_clear(&picture->text);
	svg_harmless(&picture->text, name, strlen(name));
	svg_escape(ret, picture->text.data, picture->text.len);
	picture->countname = ret->data ? ret->data : "";
	return buf_error(ret);
}

static int add_frames(struct picture *picture)
{
	int err = 0;

	buf_adds(picture->out, "<g id=\"frames\">\n");
	for (size_t i = 0; i < picture->layout->len && !err; i++)
		err = add_frame(picture, &picture->layout->frames[i]);
	if (!picture->layout->len)
		buf_addf(picture->out, "<text x=\"%d\" y=\"%.15g\">There are no samples to show.</text>\n", SVG_XPAD,
			 picture->top + picture->options->fontsize);
	buf_adds(picture->out, "</g>\n");
	return err;
}

int svg_draw(const struct svg_layout *layout, const struct svg_tree *tree, const struct profile *profile,
	     const struct svg_options *options, struct buf *out)
{
	struct picture picture = { .layout = layout, .tree = tree, .options = options, .out = out };
	struct buf countname = { 0 }, foot = { 0 };
	int err = name_count(&picture, profile, &countname);

	measure(&picture);
	err = err ? err : make_foot(&picture, profile, &foot);
	if (!err) {
		open_picture(&picture,
			     picture.height + options->fontsize * 1.5 * ((double)count_lines(foot.data) + 0.5));
		err = add_frames(&picture);
		add_foot(&picture, foot.data);
		add_texts(&picture);
		buf_adds(out, "<script><![CDATA[\n");
		buf_adds(out, script);
		buf_adds(out, "]]></script>\n</svg>\n");
	}
	err = err ? err : buf_error(&picture.text);
	buf_free(&picture.text);
	buf_free(&countname);
	buf_free(&foot);
	return err ? err : buf_error(out);
}
