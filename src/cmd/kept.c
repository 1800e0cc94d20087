/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles of what is kept. In: a range of time, and where to look for it. Out: the profile; or one line that says why
 * there is none, and what to do. Unless a folder is named a server is asked first: it has the seconds that are not
 * sealed yet, and whoever may ask it need not be able to read its folder.
 */
#include "cmd/kept.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/json_read.h"
#include "base/outpath.h"
#include "base/when.h"
#include "cmd/ask.h"
#include "cmd/input.h"
#include "in/in.h"
#include "profile/profile.h"

#define OK 200
#define NOT_FOUND 404
/* Letters that mean nothing to a shell. */
#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:,@%"

bool kept_asked(const struct kept_options *options)
{
	return options->from || options->to || options->data || options->socket;
}

int kept_check(const struct kept_options *options, const struct input_options *input, size_t files,
	       struct store_range *ret)
{
	if (files)
		return fail_plain(-EINVAL, "a file, or a time of what wick serve keeps: not both");
	if (options->data && options->socket)
		return fail_plain(-EINVAL, "--data, --socket: a folder, or a server: not both");
	if (input->type || input->salvage)
		return fail_plain(-EINVAL, "--%s: it is for files", input->type ? "type" : "salvage");
	return when_parse_range(options->from, options->to, clock_ns(CLOCK_REALTIME), &ret->from, &ret->to);
}

/* There is nothing of this range; what there is, if that is known (NULL: it is not). */
static int say_nothing_kept(const struct store_range *range, const struct store_range *extent)
{
	autobuf struct buf asked = { 0 }, there = { 0 };

	buf_adds(&asked, range->from ? "from " : "");
	if (range->from)
		when_add(&asked, range->from);
	buf_adds(&asked, range->from ? " to " : "before ");
	when_add(&asked, range->to);
	fail_plain(-ENODATA, "nothing is kept %s", buf_error(&asked) ? "of that time" : asked.data);
	if (!extent)
		return -ENODATA;
	if (!extent->to)
		return fail_hint(-ENODATA, "nor of any other time");
	when_add(&there, extent->from);
	buf_adds(&there, " to ");
	when_add(&there, extent->to);
	return fail_hint(-ENODATA, "there is something from %s", buf_error(&there) ? "other times" : there.data);
}

/*
 * Only root has more rights than the owner of a folder. Who owns a part of the path, as it is written or without links,
 * decides what is found at its end.
 */
static int read_as_owner(const char *folder, struct rights *ret_before)
{
	autofree char *real = realpath(folder, NULL);
	uid_t uid = 0;
	gid_t gid = 0;
	int err;

	if (geteuid())
		return 0;
	err = real ? outpath_owner(folder, "store", &uid, &gid) : fail(-errno, "store '%s'", folder);
	if (!err && !uid)
		err = outpath_owner(real, "store", &uid, &gid);
	if (err || !uid)
		return err;
	err = rights_read_as(ret_before, uid, gid);
	return err ? fail(err, "store '%s'", folder) : 0;
}

int kept_open(struct kept_store *ret, const char *folder)
{
	const struct store_options options = { .folder = folder, .read_only = true };
	int err;

	*ret = (struct kept_store){ 0 };
	err = read_as_owner(folder, &ret->before);
	err = err ? err : store_open(&ret->store, &options);
	if (err)
		kept_close(ret);
	return err;
}

void kept_close(struct kept_store *kept)
{
	store_free(kept->store);
	rights_restore(&kept->before);
	*kept = (struct kept_store){ 0 };
}

static int read_folder(struct profile **ret, const char *folder, const struct store_range *range)
{
	struct kept_store kept;
	struct store_range extent = { 0 };
	struct store_answer answer = { 0 };
	struct profile *profile = NULL;
	int err = kept_open(&kept, folder);

	err = err ? err : store_query(kept.store, range, NULL, &profile, &answer);
	if (!err && !answer.rows) {
		err = store_extent(kept.store, &extent);
		err = err ? err : say_nothing_kept(range, &extent);
	}
	kept_close(&kept);
	if (err)
		profile_free(profile);
	else
		*ret = profile;
	return err;
}

/* What a server says it has, by its curves: those of all times. Left as it is if it does not say. */
static void ask_extent(const char *path, struct store_range *ret)
{
	autobuf struct buf body = { 0 };
	struct json_in json;
	struct span key;
	uint64_t from = 0, to = 0;
	unsigned status = 0;

	if (ask_server(path, "/api/series?cells=1", &body, &status) || status != OK)
		return;
	json_in_init(&json, body.data, body.len);
	for (json_in_begin(&json, '{'); json_in_key(&json, &key);) {
		if (span_is(key, "from_ms"))
			from = json_in_u64(&json);
		else if (span_is(key, "to_ms"))
			to = json_in_u64(&json);
		else
			json_in_skip(&json);
	}
	if (!json.bad && to < UINT64_MAX / NS_PER_MS)
		*ret = (struct store_range){ from * NS_PER_MS, to * NS_PER_MS };
	json_in_free(&json);
}

/* The one sentence that an error is. */
static int say_refused(const char *path, const struct buf *body, unsigned status)
{
	autobuf struct buf why = { 0 };
	struct json_in json;
	struct span key;

	json_in_init(&json, body->data ? body->data : "", body->len);
	for (json_in_begin(&json, '{'); json_in_key(&json, &key);) {
		struct span text = { 0 };

		if (span_is(key, "error"))
			text = json_in_text(&json);
		else
			json_in_skip(&json);
		buf_add(&why, text.data ? text.data : "", text.len);
	}
	json_in_free(&json);
	return fail_plain(-EPROTO, "asking the server at '%s': %s (%u)", path,
			  !buf_error(&why) && why.len ? why.data : "it refused", status);
}

static int read_server(struct profile **ret, const char *path, const struct store_range *range)
{
	struct in_request request = { 0 };
	struct store_range extent = { 0 };
	autobuf struct buf target = { 0 }, body = { 0 };
	unsigned status = 0;
	int err;

	buf_addf(&target, "/api/profile?from=%llu&to=%llu&format=wick", range->from / NS_PER_MS, range->to / NS_PER_MS);
	err = buf_error(&target) ? fail(-ENOMEM, "asking the server") : ask_server(path, target.data, &body, &status);
	if (err)
		return err;
	if (status == NOT_FOUND) {
		ask_extent(path, &extent);
		return say_nothing_kept(range, extent.to ? &extent : NULL);
	}
	if (status != OK)
		return say_refused(path, &body, status);
	err = in_read_bytes(ret, body.data, body.len, &request);
	buf_free(&request.notes);
	return err ? fail_plain(-EPROTO, "asking the server at '%s': what it answers is not a profile", path) : 0;
}

static int hint_server(int err)
{
	if (err == -EACCES)
		return fail_hint(err, "it answers root alone: use sudo");
	if (err == -ENOENT || err == -ECONNREFUSED)
		return fail_hint(err, "is wick serve running? --data reads its folder without it");
	return err;
}

int kept_read(struct profile **ret, const struct kept_options *options, const struct store_range *range)
{
	int err;

	if (options->data)
		return read_folder(ret, options->data, range);
	err = read_server(ret, options->socket ? options->socket : KEPT_SOCKET, range);
	if (options->socket || (err != -ENOENT && err != -ECONNREFUSED))
		return hint_server(err);
	if (access(KEPT_FOLDER, F_OK) && errno == ENOENT)
		return fail_plain(err,
				  "no server answers at %s, and there is no folder %s: wick serve keeps profiles; "
				  "--socket and --data name other places",
				  KEPT_SOCKET, KEPT_FOLDER);
	return read_folder(ret, KEPT_FOLDER, range);
}

/* A place that would need quoting is left for who types it. */
static void add_place(struct buf *out, const char *option, const char *path)
{
	if (path)
		buf_addf(out, " --%s %s", option, path[strspn(path, PLAIN)] ? "..." : path);
}

void kept_add_words(struct buf *out, const struct kept_options *options, const struct store_range *range)
{
	if (range->from) {
		buf_adds(out, "--from ");
		when_add(out, range->from);
		buf_addc(out, ' ');
	}
	buf_adds(out, "--to ");
	when_add(out, range->to);
	add_place(out, "data", options->data);
	add_place(out, "socket", options->socket);
}
