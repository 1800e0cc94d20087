/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a profile in whatever format it is. In: a path and what was asked of the reader. Out: the profile; and on
 * standard error one line if not all that was in the file is in it.
 */
#include "cmd/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fail.h"
#include "base/text.h"
#include "in/in.h"

void input_note(const char *path, const struct buf *notes)
{
	autobuf struct buf line = { 0 };

	buf_adds(&line, "wick: '");
	text_escape(&line, path, strlen(path), NULL);
	buf_adds(&line, "': ");
	text_escape(&line, notes->data, notes->len, NULL);
	buf_addc(&line, '\n');
	if (!buf_error(&line))
		fputs(line.data, stderr);
}

int input_read_both(struct profile **ret, struct profile **ret_before, const char *path,
		    const struct input_options *options)
{
	bool standard = !strcmp(path, "-");
	const char *shown = standard ? "standard input" : path;
	autoclose int fd =
		standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct in_request request = { .type = options->type, .salvage = options->salvage, .both = ret_before };
	int err;

	if (fd < 0)
		return fail(-errno, "reading '%s'", shown);
	err = in_read_fd(ret, fd, &request);
	if (err) {
		autofree char *words = strdup(fail_text());

		fail_plain(err, "reading '%s': %s", shown, words ? words : "");
	} else if (request.notes.len) {
		input_note(shown, &request.notes);
	}
	buf_free(&request.notes);
	if (ret_before)
		*ret_before = request.before;
	return err;
}

int input_read(struct profile **ret, const char *path, const struct input_options *options)
{
	return input_read_both(ret, NULL, path, options);
}
