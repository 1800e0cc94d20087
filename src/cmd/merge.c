/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wick merge: several saved profiles become one. Needs no root and no kernel. One file after the other is read and
 * added to the first, so at most two of them are in memory.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fail.h"
#include "base/opt.h"
#include "cmd/cmd.h"
#include "cmd/filters.h"
#include "cmd/input.h"
#include "cmd/outputs.h"
#include "profile/merge.h"
#include "profile/profile.h"

struct merge_options {
	struct opt_list outputs;
	const char *format;
	const char *stats;
	struct filter_options filter;
	struct input_options input;
};

#define ROW(name, value, reader, field, help, hint) \
	{ 0, name, value, reader, offsetof(struct merge_options, filter.field), help, hint },
#define INPUT_ROW(name, value, reader, field, help, hint) \
	{ 0, name, value, reader, offsetof(struct merge_options, input.field), help, hint },

static const struct opt options[] = {
	{ 'o', "output", "FILE", opt_list, offsetof(struct merge_options, outputs),
	  "where to write; its suffix chooses the format; - is standard output", "file" },
	{ 'f', "format", "FORMAT", opt_text, offsetof(struct merge_options, format), "wick, folded or report",
	  "wick folded report" },
	{ 0, "stats", "FILE", opt_text, offsetof(struct merge_options, stats), "write the accounting as JSON", "file" },
	FILTER_OPTIONS(ROW) INPUT_OPTIONS(INPUT_ROW){ 0 },
};

/* Said only where something is lost by it: of samples the other values can be worked out again. */
static void note_types(const char *path, const struct profile *into, const struct profile *from)
{
	const struct profile_meta *meta = profile_meta(into);
	autobuf struct buf note = { 0 };

	if (types_equal(into, from) || (profile_types(into)->len < 2 && profile_types(from)->len < 2) ||
	    !strcmp(profile_text(into, meta->unit, NULL), "samples"))
		return;
	buf_addf(&note, "it has other types of values than what it is added to: %s alone are left",
		 profile_text(into, meta->event ? meta->event : meta->unit, NULL));
	if (!buf_error(&note))
		input_note(path, &note);
}

static int add_file(const struct merge_options *asked, const char *path, struct profile **into)
{
	struct profile *profile = NULL;
	int err = filters_read(&asked->filter, &asked->input, path, &profile);

	if (err)
		return err;
	if (!*into) {
		*into = profile;
		return 0;
	}
	note_types(path, *into, profile);
	err = merge_into(*into, profile);
	if (err) {
		autofree char *words = strdup(fail_text());

		fail_plain(err, "adding '%s': %s", path, words ? words : "");
	}
	profile_free(profile);
	return err;
}

static int merge(const struct merge_options *asked, const struct opt_list *paths)
{
	struct outputs *outputs = NULL;
	struct profile *profile = NULL;
	int err = outputs_open(&outputs, &asked->outputs, asked->format, asked->stats);
	int status = err == -EINVAL ? EXIT_USAGE : EXIT_MACHINE;

	for (size_t i = 0; i < paths->len && !err; i++)
		err = add_file(asked, paths->items[i], &profile);
	if (!err) {
		profile_settle(profile);
		err = outputs_write(outputs, profile);
	}
	outputs_free(outputs);
	profile_free(profile);
	return err && err != -EPIPE ? command_failed(status) : EXIT_DONE;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct merge_options asked = { 0 };
	struct opt_list operands = { 0 };
	int rest = opt_parse(options, argc, argv, &asked, &operands), err = rest < 0 ? rest : 0, status;

	if (!err && rest != argc)
		err = fail_plain(-EINVAL, "merge: it runs no command");
	else if (!err && !operands.len)
		err = fail_plain(-EINVAL, "merge: no profiles to read");
	err = err ? err : filters_check(&asked.filter);
	status = err ? command_usage(command, err) : merge(&asked, &operands);
	opt_list_free(&operands);
	opt_list_free(&asked.outputs);
	return status;
}

const struct command command_merge = {
	.name = "merge",
	.summary = "Makes one profile of several",
	.usage = "[OPTION]... FILE...",
	.examples = "  wick merge cpu.wick x.folded -o all.wick\n"
		    "  wick merge cpu.wick x.folded               the report, on standard output\n",
	.options = options,
	.run = run,
};
