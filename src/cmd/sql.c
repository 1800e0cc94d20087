/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wick sql: a question in SQL about what `wick serve` has kept. In: one SELECT, and the server's folder, which may be
 * written to meanwhile. Out: rows as a table for people, as CSV or as JSON. Names come from targets: control characters
 * in them are made visible in all of these.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/columns.h"
#include "base/fail.h"
#include "base/file.h"
#include "base/json.h"
#include "base/opt.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/kept.h"
#include "cmd/values.h"
#include "out/out.h"
#include "store/question.h"
#include "store/store.h"

#define TIMEOUT 30      /* seconds */
#define LOOK_AHEAD 1000 /* rows, for the widths of a table's columns */
#define FLUSH (256u << 10)

struct asked {
	const char *data, *format, *timeout;
};

static const struct opt options[] = {
	{ 0, "data", "DIR", opt_text, offsetof(struct asked, data), "wick serve's folder (" KEPT_FOLDER ")", "dir" },
	{ 'f', "format", "FORMAT", opt_text, offsetof(struct asked, format), "table, csv or json", "table csv json" },
	{ 0, "timeout", "SECONDS", opt_text, offsetof(struct asked, timeout), "give up after so long (30; 0: never)",
	  NULL },
	{ 0 },
};

struct printer {
	const struct printing *how;
	struct buf out;
	char *names[STORE_COLUMNS_MAX];
	size_t columns;
	/* Of a table: cells that wait until widths are known, each ended by NUL, and how wide their columns are. */
	struct buf cells;
	size_t widths[STORE_COLUMNS_MAX];
	bool numeric[STORE_COLUMNS_MAX];
	size_t rows;
};

struct printing {
	const char *name;
	void (*head)(struct printer *printer);
	void (*row)(struct printer *printer, const struct store_value *values);
	void (*end)(struct printer *printer);
};

static int flush(struct printer *printer)
{
	int err = buf_error(&printer->out);

	if (!err && printer->out.len)
		err = file_write_all(STDOUT_FILENO, printer->out.data, printer->out.len);
	buf_clear(&printer->out);
	return err ? fail(err, "writing the answer") : 0;
}

/* `also`: what else is to be escaped; NULL: nothing. */
static void add_value(struct buf *out, const struct store_value *value, const char *also)
{
	switch (value->kind) {
	case STORE_INTEGER:
		buf_addf(out, "%lld", (long long)value->integer);
		break;
	case STORE_REAL:
		buf_addf(out, "%.15g", value->real);
		break;
	case STORE_TEXT:
		text_escape(out, value->data, value->len, also);
		break;
	case STORE_BYTES:
		for (size_t i = 0; i < value->len; i++)
			buf_addf(out, "%02x", (unsigned char)value->data[i]);
		break;
	default:
		break;
	}
}

/* ---- CSV, as RFC 4180 has it ---- */

static void add_quoted(struct buf *out, const char *text, size_t len)
{
	bool plain = !memchr(text, ',', len) && !memchr(text, '"', len);

	if (plain) {
		buf_add(out, text, len);
		return;
	}
	buf_addc(out, '"');
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '"')
			buf_addc(out, '"');
		buf_addc(out, text[i]);
	}
	buf_addc(out, '"');
}

static void csv_head(struct printer *printer)
{
	for (size_t i = 0; i < printer->columns; i++) {
		buf_adds(&printer->out, i ? "," : "");
		add_quoted(&printer->out, printer->names[i], strlen(printer->names[i]));
	}
	buf_addc(&printer->out, '\n');
}

static void csv_row(struct printer *printer, const struct store_value *values)
{
	for (size_t i = 0; i < printer->columns; i++) {
		buf_clear(&printer->cells);
		add_value(&printer->cells, &values[i], NULL);
		buf_adds(&printer->out, i ? "," : "");
		add_quoted(&printer->out, printer->cells.data ? printer->cells.data : "", printer->cells.len);
	}
	buf_addc(&printer->out, '\n');
}

/* ---- JSON: a list of objects, each on a line ---- */

static void json_head(struct printer *printer)
{
	buf_adds(&printer->out, "[");
}

static void json_row(struct printer *printer, const struct store_value *values)
{
	struct json json = { .out = &printer->out };

	buf_adds(&printer->out, printer->rows ? ",\n" : "\n");
	json_object(&json, NULL);
	for (size_t i = 0; i < printer->columns; i++) {
		buf_clear(&printer->cells);
		add_value(&printer->cells, &values[i], NULL);
		if (values[i].kind == STORE_TEXT || values[i].kind == STORE_BYTES)
			json_text(&json, printer->names[i], printer->cells.data, printer->cells.len);
		else if (values[i].kind == STORE_INTEGER ||
			 strspn(printer->cells.data ? printer->cells.data : "", "-0123456789"))
			json_raw(&json, printer->names[i], printer->cells.data);
		else /* nothing, or a number that JSON has no word for */
			json_null(&json, printer->names[i]);
	}
	json_end(&json, '}');
}

static void json_foot(struct printer *printer)
{
	buf_adds(&printer->out, "\n]\n");
}

/* ---- A table ---- */

static void add_cell(struct printer *printer, size_t column, const char *text)
{
	size_t width = columns_of(text, strlen(text)), blanks = 0;
	bool last = column + 1 == printer->columns;

	if (width < printer->widths[column])
		blanks = printer->widths[column] - width;
	if (printer->numeric[column])
		buf_addf(&printer->out, "%*s%s", (int)blanks, "", text);
	else
		buf_addf(&printer->out, "%s%*s", text, last ? 0 : (int)blanks, "");
	buf_adds(&printer->out, last ? "\n" : "  ");
}

/* Writes what waited: the widths are as they will be. */
static void write_cells(struct printer *printer)
{
	const char *at = printer->cells.data;
	size_t cell = 0;

	while (at && at < printer->cells.data + printer->cells.len) {
		add_cell(printer, cell++ % printer->columns, at);
		at += strlen(at) + 1;
	}
	buf_clear(&printer->cells);
}

static void widen(struct printer *printer, size_t column, const char *text)
{
	size_t width = columns_of(text, strlen(text));

	if (width > printer->widths[column] && width < INT_MAX)
		printer->widths[column] = width;
}

static void table_head(struct printer *printer)
{
	for (size_t i = 0; i < printer->columns; i++) {
		widen(printer, i, printer->names[i]);
		buf_add(&printer->cells, printer->names[i], strlen(printer->names[i]) + 1);
	}
}

static void table_row(struct printer *printer, const struct store_value *values)
{
	for (size_t i = 0; i < printer->columns; i++) {
		size_t start = printer->cells.len;

		add_value(&printer->cells, &values[i], NULL);
		buf_addc(&printer->cells, '\0');
		if (buf_error(&printer->cells))
			return;
		if (printer->rows < LOOK_AHEAD) {
			widen(printer, i, printer->cells.data + start);
			printer->numeric[i] = values[i].kind == STORE_INTEGER || values[i].kind == STORE_REAL;
		}
	}
	if (printer->rows >= LOOK_AHEAD)
		write_cells(printer);
}

static void no_head(struct printer *printer)
{
	(void)printer;
}

static const struct printing printings[] = {
	{ "table", table_head, table_row, write_cells },
	{ "csv", csv_head, csv_row, no_head },
	{ "json", json_head, json_row, json_foot },
};

static int take_names(void *arg, const char *const *names, size_t len)
{
	struct printer *printer = arg;

	for (printer->columns = 0; printer->columns < len; printer->columns++) {
		autobuf struct buf name = { 0 };

		text_escape(&name, names[printer->columns], strlen(names[printer->columns]), NULL);
		printer->names[printer->columns] = strdup(buf_error(&name) || !name.data ? "" : name.data);
		if (!printer->names[printer->columns])
			return fail(-ENOMEM, "sql");
	}
	printer->how->head(printer);
	return 0;
}

static int take_row(void *arg, const struct store_value *values, size_t len)
{
	struct printer *printer = arg;

	(void)len;
	printer->how->row(printer, values);
	printer->rows++;
	if (buf_error(&printer->cells))
		return fail(-ENOMEM, "sql");
	return printer->out.len > FLUSH ? flush(printer) : 0;
}

static int ask(const struct asked *asked, unsigned timeout, const char *text, struct printer *printer)
{
	const struct store_question question = {
		.text = text,
		.timeout_ns = timeout * NS_PER_SEC,
		.function = out_frame_text,
		.module = out_function_module,
		.names = take_names,
		.row = take_row,
		.arg = printer,
	};
	struct kept_store kept;
	int err = kept_open(&kept, asked->data ? asked->data : KEPT_FOLDER);

	err = err ? err : store_ask(kept.store, &question);
	if (!err)
		printer->how->end(printer);
	err = err ? err : flush(printer);
	kept_close(&kept);
	return err;
}

static int choose(const struct asked *asked, struct printer *printer)
{
	for (size_t i = 0; i < sizeof(printings) / sizeof(*printings); i++)
		if (!strcmp(asked->format ? asked->format : "table", printings[i].name))
			printer->how = &printings[i];
	return printer->how ? 0 : fail_plain(-EINVAL, "--format: '%s' is not table, csv or json", asked->format);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct asked asked = { 0 };
	struct printer printer = { 0 };
	struct opt_list operands = { 0 };
	unsigned timeout = TIMEOUT;
	int rest = opt_parse(options, argc, argv, &asked, &operands), err = rest < 0 ? rest : 0, status = EXIT_DONE;

	if (!err && (rest != argc || operands.len != 1))
		err = fail_plain(-EINVAL, "sql: one question, in quotes, and it was given %zu", operands.len);
	err = err ? err : value_whole(asked.timeout, "timeout", 0, INT_MAX, &timeout);
	err = err ? err : choose(&asked, &printer);
	if (err)
		status = command_usage(command, err);
	else
		err = ask(&asked, timeout, operands.items[0], &printer);
	if (err && status == EXIT_DONE && err != -EPIPE)
		status = command_failed(err == -EINVAL ? EXIT_USAGE : EXIT_MACHINE);
	for (size_t i = 0; i < printer.columns; i++)
		free(printer.names[i]);
	buf_free(&printer.out);
	buf_free(&printer.cells);
	opt_list_free(&operands);
	return status;
}

const struct command command_sql = {
	.name = "sql",
	.summary = "Answers a question in SQL about what wick serve has kept",
	.usage = "[OPTION]... QUESTION",
	.examples = "  wick sql 'SELECT * FROM sizes'\n"
		    "  wick sql \"SELECT process, sum(samples) FROM samples('-1h') GROUP BY 1\"\n"
		    "  wick sql -f csv 'SELECT * FROM functions ORDER BY self DESC LIMIT 20'\n",
	.options = options,
	.run = run,
};
