/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Option tables: parsing and help. In: argv, which anyone may have written. Out: an options struct filled through the
 * table's offsets, operands in a list, or -EINVAL with words that name the option. Values are borrowed from argv. The
 * first thing that is wrong ends the parsing; what was read until then stays.
 */
#include "base/opt.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/text.h"

#define NAME_LIMIT 64 /* no option is as long; longer words are not compared */
#define CLOSE_ENOUGH 2
#define HELP_WIDTH 80
#define HELP_COLUMN_MIN 25
#define HELP_COLUMN_MAX 32

/* What is left of the command line while it is read. */
struct parser {
	const struct opt *table;
	int argc;
	char **argv;
	int at;
	char *options;
};

static bool is_last(const struct opt *opt)
{
	return !opt->letter && !opt->name;
}

/* "--frequency: " or "-F: " and what is wrong with it. */
static int fail_option(const struct opt *opt, const char *why)
{
	if (opt->name)
		return fail_plain(-EINVAL, "--%s: %s", opt->name, why);
	return fail_plain(-EINVAL, "-%c: %s", opt->letter, why);
}

static int fail_value(const struct opt *opt, const char *value, const char *why)
{
	if (opt->name)
		return fail_plain(-EINVAL, "--%s: '%s' %s", opt->name, value, why);
	return fail_plain(-EINVAL, "-%c: '%s' %s", opt->letter, value, why);
}

int opt_flag(const struct opt *opt, const char *value, void *into)
{
	(void)opt;
	(void)value;
	*(bool *)into = true;
	return 0;
}

int opt_u64(const struct opt *opt, const char *value, void *into)
{
	int err = text_u64(value, into);

	if (err)
		return fail_value(opt, value, err == -ERANGE ? "is too large" : "is not a number");
	return 0;
}

int opt_bytes(const struct opt *opt, const char *value, void *into)
{
	static const char units[] = "KMG";
	size_t digits = strspn(value, "0123456789");
	const char *unit = value[digits] ? strchr(units, value[digits]) : NULL;
	unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
	char number[32];
	uint64_t count;

	if (!digits || (unit ? value[digits + 1] : value[digits]))
		return fail_value(opt, value, "is not a size: a number, or one with K, M or G after it");
	if (digits >= sizeof(number))
		return fail_value(opt, value, "is too large");
	memcpy(number, value, digits);
	number[digits] = '\0';
	if (text_u64(number, &count) || count > UINT64_MAX >> shift)
		return fail_value(opt, value, "is too large");
	*(uint64_t *)into = count << shift;
	return 0;
}

int opt_text(const struct opt *opt, const char *value, void *into)
{
	(void)opt;
	*(const char **)into = value;
	return 0;
}

static int list_add(struct opt_list *list, const char *item)
{
	const char **items;
	size_t bytes;

	if (__builtin_mul_overflow(list->len + 1, sizeof(*items), &bytes))
		return fail(-ENOMEM, "reading the command line");
	items = realloc(list->items, bytes);
	if (!items)
		return fail(-ENOMEM, "reading the command line");
	items[list->len++] = item;
	list->items = items;
	return 0;
}

int opt_list(const struct opt *opt, const char *value, void *into)
{
	(void)opt;
	return list_add(into, value);
}

void opt_list_free(struct opt_list *list)
{
	if (!list)
		return;
	free(list->items);
	*list = (struct opt_list){ 0 };
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* How many letters have to be added, dropped or changed to turn one word into the other. */
static unsigned distance(const char *from, size_t from_len, const char *to)
{
	unsigned row[NAME_LIMIT];
	size_t to_len = strlen(to);

	if (from_len >= NAME_LIMIT || to_len >= NAME_LIMIT)
		return NAME_LIMIT;
	for (size_t j = 0; j <= to_len; j++)
		row[j] = (unsigned)j;
	for (size_t i = 1; i <= from_len; i++) {
		unsigned diagonal = row[0];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= to_len; j++) {
			unsigned changed = diagonal + (from[i - 1] != to[j - 1]);

			diagonal = row[j];
			row[j] = least(changed, least(row[j], row[j - 1]) + 1);
		}
	}
	return row[to_len];
}

/* The shown option that was probably meant: the nearest, or the first that begins so; NULL if none is close. */
static const char *nearest(const struct opt *table, const char *word, size_t len)
{
	unsigned best = least(CLOSE_ENOUGH + 1, (unsigned)least(len, NAME_LIMIT));
	const char *begins = NULL;
	const char *found = NULL;

	for (const struct opt *opt = table; !is_last(opt); opt++) {
		unsigned far;

		if (!opt->name || !opt->help)
			continue;
		far = distance(word, len, opt->name);
		if (far < best) {
			best = far;
			found = opt->name;
		}
		if (!begins && len > 1 && !strncmp(opt->name, word, len))
			begins = opt->name;
	}
	return found ? found : begins;
}

/* `shown` is what the user wrote, `word` the part of it that may be a misspelt name. */
static int fail_unknown(const struct parser *parser, const char *shown, size_t shown_len, const char *word, size_t len)
{
	const char *meant = nearest(parser->table, word, len);

	fail_plain(-EINVAL, "unknown option '%.*s'", (int)least(shown_len, 256), shown);
	if (meant)
		return fail_hint(-EINVAL, "did you mean '--%s'?", meant);
	return fail_hint(-EINVAL, "see --help");
}

static int read_into(const struct parser *parser, const struct opt *opt, const char *value)
{
	return opt->read(opt, value, parser->options + opt->offset);
}

/* The value is what is attached or else the next argument; "--" is never a value, it would hide a forgotten one. */
static int read_value(struct parser *parser, const struct opt *opt, const char *attached)
{
	const char *next = parser->at + 1 < parser->argc ? parser->argv[parser->at + 1] : NULL;

	if (attached)
		return read_into(parser, opt, attached);
	if (!next || !strcmp(next, "--"))
		return fail_option(opt, "needs a value");
	parser->at++;
	return read_into(parser, opt, next);
}

static int parse_long(struct parser *parser, const char *arg)
{
	const char *name = arg + 2;
	size_t len = strcspn(name, "=");
	const char *attached = name[len] ? name + len + 1 : NULL;

	if (!strcmp(name, "help"))
		return -ECANCELED;
	for (const struct opt *opt = parser->table; !is_last(opt); opt++) {
		if (!opt->name || strncmp(opt->name, name, len) || opt->name[len])
			continue;
		if (opt->value)
			return read_value(parser, opt, attached);
		if (attached)
			return fail_option(opt, "takes no value");
		return read_into(parser, opt, NULL);
	}
	return fail_unknown(parser, arg, len + 2, name, len);
}

static const struct opt *find_letter(const struct opt *table, char letter)
{
	for (const struct opt *opt = table; !is_last(opt); opt++) {
		if (opt->letter == letter)
			return opt;
	}
	return NULL;
}

static int parse_letters(struct parser *parser, const char *arg)
{
	for (const char *at = arg + 1; *at; at++) {
		const struct opt *opt = find_letter(parser->table, *at);
		char shown[] = { '-', *at, '\0' };
		int err;

		if (*at == 'h')
			return -ECANCELED;
		if (!opt && at == arg + 1) /* perhaps a long name with one dash */
			return fail_unknown(parser, arg, strlen(arg), arg + 1, strlen(arg + 1));
		if (!opt)
			return fail_unknown(parser, shown, 2, "", 0);
		if (opt->value)
			return read_value(parser, opt, at[1] ? at + 1 : NULL);
		err = read_into(parser, opt, NULL);
		if (err)
			return err;
	}
	return 0;
}

int opt_parse(const struct opt *table, int argc, char **argv, void *options, struct opt_list *operands)
{
	struct parser parser = { .table = table, .argc = argc, .argv = argv, .options = options };

	for (parser.at = 1; parser.at < argc; parser.at++) {
		const char *arg = argv[parser.at];
		int err;

		if (!strcmp(arg, "--"))
			return parser.at + 1;
		if (arg[0] != '-' || !arg[1])
			err = list_add(operands, arg);
		else
			err = arg[1] == '-' ? parse_long(&parser, arg) : parse_letters(&parser, arg);
		if (err)
			return err;
	}
	return argc;
}

/* Characters, not bytes: names of values may hold an ellipsis. */
static size_t width_of(const char *text, size_t len)
{
	size_t width = 0;

	for (size_t i = 0; i < len; i++)
		width += ((unsigned char)text[i] & 0xc0) != 0x80;
	return width;
}

/* "  -F, --frequency HZ"; returns its width. */
static size_t add_synopsis(const struct opt *opt, struct buf *out)
{
	size_t start = out->len;

	if (opt->letter)
		buf_addf(out, "  -%c%s", opt->letter, opt->name ? ", " : "");
	else
		buf_adds(out, "      ");
	if (opt->name)
		buf_addf(out, "--%s", opt->name);
	if (opt->value)
		buf_addf(out, " %s", opt->value);
	return buf_error(out) ? 0 : width_of(out->data + start, out->len - start);
}

static void add_spaces(struct buf *out, size_t count)
{
	buf_addf(out, "%*s", (int)count, "");
}

/* The help of one option, its words wrapped between the column and the width; `at` is where the line stands. */
static void add_wrapped(const char *help, size_t column, size_t at, struct buf *out)
{
	const char *word = help + strspn(help, " ");
	bool first = true;

	if (at + 2 > column) {
		buf_addc(out, '\n');
		at = 0;
	}
	add_spaces(out, column - at);
	at = column;
	while (*word) {
		size_t len = strcspn(word, " ");
		size_t width = width_of(word, len);

		if (!first && at + 1 + width > HELP_WIDTH) {
			buf_addc(out, '\n');
			add_spaces(out, column);
			at = column;
		} else if (!first) {
			buf_addc(out, ' ');
			at++;
		}
		buf_add(out, word, len);
		at += width;
		first = false;
		word += len;
		word += strspn(word, " ");
	}
	buf_addc(out, '\n');
}

static size_t help_column(const struct opt *table)
{
	size_t column = HELP_COLUMN_MIN;

	for (const struct opt *opt = table; !is_last(opt); opt++) {
		autobuf struct buf synopsis = { 0 };
		size_t wanted = opt->help ? add_synopsis(opt, &synopsis) + 2 : 0;

		if (wanted > column && wanted <= HELP_COLUMN_MAX)
			column = wanted;
	}
	return column;
}

void opt_help(const struct opt *table, struct buf *out)
{
	static const struct opt help = { .letter = 'h', .name = "help", .help = "show this help" };
	size_t column = help_column(table);
	bool has_help = false;

	for (const struct opt *opt = table; !is_last(opt); opt++) {
		has_help = has_help || (opt->name && !strcmp(opt->name, "help"));
		if (opt->help)
			add_wrapped(opt->help, column, add_synopsis(opt, out), out);
	}
	if (!has_help)
		add_wrapped(help.help, column, add_synopsis(&help, out), out);
}
