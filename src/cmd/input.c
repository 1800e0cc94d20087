/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a profile in whatever format it is; a file larger than wick would ever write is refused before it is read. */
#include "cmd/input.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fail.h"
#include "base/file.h"
#include "in/in.h"

#define INPUT_BYTES ((size_t)2 << 30)

int input_read(struct profile **ret, const char *path)
{
	autobuf struct buf bytes = { 0 };
	const char *shown = strcmp(path, "-") ? path : "standard input";
	int err = strcmp(path, "-") ? file_read(path, INPUT_BYTES, &bytes) : file_read_fd(0, INPUT_BYTES, &bytes);

	if (err)
		return fail(err, "reading '%s'", shown);
	err = in_read(ret, bytes.data, bytes.len);
	if (err) {
		autofree char *words = strdup(fail_text());

		fail_plain(err, "reading '%s': %s", shown, words ? words : "");
	}
	return err;
}
