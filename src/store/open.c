/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens a folder's store: makes it, brings it up to date, or refuses. In: a folder. Out: a handle with a database whose
 * tables are those of STORE_VERSION.
 *
 * Invariant: what is refused is not changed. A version is reached by the steps from the one before, all of them in one
 * transaction, so a crash in between leaves the old one.
 */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fail.h"
#include "base/outpath.h"
#include "base/rights.h"
#include "store/bundle.h"
#include "store/dict.h"
#include "store/parts.h"
#include "store/sql.h"

#define BUSY_MS 2000
#define PAGE_SIZE "4096"
#define ALL_TIMES "SELECT start_ns, end_ns FROM hour UNION ALL SELECT start_ns, end_ns FROM window"

/* The first makes STORE_OLDEST of nothing, each other leads from a version to the next. */
static const char *const steps[STORE_VERSION - STORE_OLDEST + 1] = {
	"CREATE TABLE era (id INTEGER PRIMARY KEY, first INTEGER NOT NULL, boot TEXT NOT NULL,"
	" hz INTEGER NOT NULL, period INTEGER NOT NULL, kernel_base INTEGER NOT NULL,"
	" event TEXT NOT NULL, unit TEXT NOT NULL, host TEXT NOT NULL,"
	" kernel TEXT NOT NULL, kernel_build_id BLOB NOT NULL, arch TEXT NOT NULL, version TEXT NOT NULL,"
	" command TEXT NOT NULL);"
	"CREATE TABLE dictionary (era INTEGER NOT NULL, part INTEGER NOT NULL, block INTEGER NOT NULL,"
	" changed INTEGER NOT NULL, data BLOB NOT NULL);"
	"CREATE UNIQUE INDEX dictionary_block ON dictionary (era, part, block);"
	"CREATE INDEX dictionary_changed ON dictionary (era, changed);"
	"CREATE TABLE window (sequence INTEGER PRIMARY KEY, era INTEGER NOT NULL, start_ns INTEGER NOT NULL,"
	" end_ns INTEGER NOT NULL, mono_us INTEGER NOT NULL, age_ns INTEGER NOT NULL, value INTEGER NOT NULL,"
	" lost INTEGER NOT NULL, head BLOB NOT NULL, body BLOB NOT NULL);"
	"CREATE TABLE hour (first INTEGER PRIMARY KEY, last INTEGER NOT NULL, era INTEGER NOT NULL,"
	" start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, age_ns INTEGER NOT NULL, value INTEGER NOT NULL,"
	" lost INTEGER NOT NULL, detail INTEGER NOT NULL, parts INTEGER NOT NULL, head BLOB NOT NULL,"
	" spans BLOB NOT NULL, heads BLOB NOT NULL, body BLOB NOT NULL, bodies BLOB NOT NULL);"
	"CREATE INDEX hour_order ON hour (first, last, era, start_ns, end_ns, age_ns, detail);"
	"CREATE TABLE event (window INTEGER PRIMARY KEY, bytes INTEGER NOT NULL, data BLOB NOT NULL);"
	"CREATE INDEX event_bytes ON event (window, bytes);"
	"CREATE TABLE gap (id INTEGER PRIMARY KEY, from_ns INTEGER NOT NULL, to_ns INTEGER NOT NULL,"
	" windows INTEGER NOT NULL, value INTEGER NOT NULL, why TEXT NOT NULL);"
	"CREATE VIEW gaps AS SELECT from_ns / 1e9 AS start, to_ns / 1e9 AS end, windows, value AS samples, why"
	" FROM gap;"
	"CREATE VIEW sizes AS SELECT 'windows' AS what, count(*) + (SELECT coalesce(sum(parts), 0) FROM hour"
	" WHERE detail = 0) AS rows, coalesce(sum(length(head) + length(body)), 0) + (SELECT coalesce(sum("
	"length(spans) + length(heads) + length(bodies)), 0) FROM hour WHERE detail = 0) AS bytes FROM window"
	" UNION ALL SELECT 'minutes', coalesce(sum(parts), 0), coalesce(sum(length(spans) + length(heads) +"
	" length(bodies)), 0) FROM hour WHERE detail = 1"
	" UNION ALL SELECT 'hours', count(*), coalesce(sum(length(head) + length(body)), 0) FROM hour"
	" UNION ALL SELECT 'dictionaries', count(*), coalesce(sum(length(data)), 0) FROM dictionary"
	" UNION ALL SELECT 'events', count(*), coalesce(sum(bytes), 0) FROM event;",
};

/* The folder may be a link, what is in it may not: *ret is where it leads to. */
static int open_folder(const char *folder, bool read_only, char **ret)
{
	struct stat info;
	int err = 0;

	if (read_only)
		*ret = realpath(folder, NULL);
	else
		err = outpath_folder(ret, folder, 0700, "store");
	if (err)
		return err;
	if (!*ret || stat(*ret, &info))
		return fail(-errno, "store '%s'", folder);
	if (!S_ISDIR(info.st_mode))
		return fail(-ENOTDIR, "store '%s'", folder);
	if (!read_only && info.st_uid != rights_user()) /* SQLite as root would give files to that user */
		return fail_plain(-EPERM, "store '%s': the folder belongs to user %u: use another folder", folder,
				  info.st_uid);
	if (!read_only && (info.st_mode & 077))
		return fail_plain(-EPERM, "store '%s': others may enter the folder: make it private with chmod 700",
				  folder);
	return 0;
}

/* One that writes, at most. The file's content means nothing, and it stays: whoever removes a lock makes two. */
static int take_lock(struct store *store, const char *folder)
{
	autobuf struct buf path = { 0 };

	buf_addf(&path, "%s/" STORE_LOCK, folder);
	if (buf_error(&path))
		return fail(-ENOMEM, "store '%s'", folder);
	store->lock = open(path.data, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (store->lock < 0)
		return fail(-errno, "store '%s'", folder);
	if (!flock(store->lock, LOCK_EX | LOCK_NB))
		return 0;
	if (errno != EWOULDBLOCK)
		return fail(-errno, "locking the store '%s'", folder);
	return fail_plain(-EBUSY, "store '%s': another process writes to it: stop that one, or use another folder",
			  folder);
}

static int open_database(struct store *store, const char *folder)
{
	int flags = store->options.read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
	autobuf struct buf path = { 0 };
	mode_t mask;
	int code;

	buf_addf(&path, "%s/" STORE_FILE, folder);
	if (buf_error(&path))
		return fail(-ENOMEM, "store '%s'", folder);
	if (store->options.read_only && access(path.data, R_OK)) {
		int err = -errno;

		if (err == -ENOENT)
			return fail_plain(err, "store '%s': there is none: is it the folder that wick serve writes to?",
					  folder);
		fail(err, "store '%s'", folder);
		return err == -EACCES ? fail_hint(err, "it is for who runs wick serve: use sudo") : err;
	}
	mask = umask(077);
	code = sqlite3_open_v2(path.data, &store->db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, NULL);
	umask(mask);
	if (code != SQLITE_OK)
		return sql_error(store->db, code);
	return sql_error(store->db, sqlite3_busy_timeout(store->db, BUSY_MS));
}

static int migrate(struct store *store, int64_t from)
{
	int err = sql_script(store->db, "BEGIN IMMEDIATE");

	if (err)
		return err;
	for (int64_t i = from ? from - STORE_OLDEST + 1 : 0; i <= STORE_VERSION - STORE_OLDEST && !err; i++)
		err = sql_script(store->db, steps[i]);
	if (!err) {
		char text[96];

		snprintf(text, sizeof(text), "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT", STORE_ID,
			 STORE_VERSION);
		err = sql_script(store->db, text);
	}
	if (err)
		sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	return err;
}

/* The version of what is there; 0: nothing is. */
static int check_version(struct store *store, int64_t *ret)
{
	const char *folder = store->options.folder;
	int64_t id = 0, tables = 0;
	int err = sql_number(store->db, ret, 0, "PRAGMA user_version", "");

	err = err ? err : sql_number(store->db, &id, 0, "PRAGMA application_id", "");
	err = err ? err : sql_number(store->db, &tables, 0, "SELECT count(*) FROM sqlite_schema", "");
	if (err)
		return err;
	if (id != STORE_ID && (id || tables || *ret))
		return fail_plain(-EBADMSG, "store '%s': %s is not a store of wick: use another folder", folder,
				  STORE_FILE);
	if (*ret > STORE_VERSION)
		return fail_plain(
			-EPROTONOSUPPORT,
			"store '%s': it has version %lld, this wick knows %d: use a newer wick, or another folder",
			folder, (long long)*ret, STORE_VERSION);
	if (*ret && *ret < STORE_OLDEST)
		return fail_plain(-EPROTONOSUPPORT,
				  "store '%s': it has version %lld, from before the first release: use another folder",
				  folder, (long long)*ret);
	return 0;
}

static int prepare(struct store *store)
{
	int64_t version = 0;
	int err = check_version(store, &version);

	if (err)
		return err;
	if (store->options.read_only) {
		if (version == STORE_VERSION)
			return 0;
		return fail_plain(
			-EPROTONOSUPPORT,
			"store '%s': it has version %lld, this wick reads %d: wick serve brings it up to date",
			store->options.folder, (long long)version, STORE_VERSION);
	}
	if (!version)
		err = sql_script(store->db, "PRAGMA page_size = " PAGE_SIZE "; PRAGMA auto_vacuum = INCREMENTAL");
	/* One sync for each window, so that not even a power cut takes away what was sealed. */
	err = err ? err
		  : sql_script(store->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
					  "PRAGMA wal_autocheckpoint = 64; PRAGMA journal_size_limit = 1048576");
	return err ? err : version < STORE_VERSION ? migrate(store, version) : 0;
}

int store_open(struct store **ret, const struct store_options *options)
{
	struct store *store = calloc(1, sizeof(*store));
	autofree char *folder = NULL;
	int err;

	if (!store)
		return fail(-ENOMEM, "store");
	store->options = *options;
	store->lock = -1;
	err = open_folder(options->folder, options->read_only, &folder);
	if (!err && !options->read_only)
		err = take_lock(store, folder);
	err = err ? err : open_database(store, folder);
	err = err ? err : prepare(store);
	store->options.folder = NULL; /* the caller's */
	if (err) {
		store_free(store);
		return err;
	}
	*ret = store;
	return 0;
}

void store_free(struct store *store)
{
	if (!store)
		return;
	sqlite3_close_v2(store->db);
	if (store->lock >= 0)
		close(store->lock);
	dict_free(store->dict);
	bundle_free(&store->bundle);
	free(store);
}

int store_begin(struct store *store)
{
	return sql_script(store->db, "BEGIN");
}

void store_end(struct store *store)
{
	sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
}

int store_bytes(struct store *store, uint64_t *ret)
{
	int64_t bytes = 0;
	int err = sql_number(store->db, &bytes, 0,
			     "SELECT (page_count - freelist_count) * page_size"
			     " FROM pragma_page_count, pragma_freelist_count, pragma_page_size",
			     "");

	*ret = (uint64_t)bytes;
	return err;
}

int store_extent(struct store *store, struct store_range *ret)
{
	int64_t from = 0, to = 0;
	int err = sql_number(store->db, &from, 0, "SELECT min(start_ns) FROM (" ALL_TIMES ")", "");

	err = err ? err : sql_number(store->db, &to, 0, "SELECT max(end_ns) FROM (" ALL_TIMES ")", "");
	*ret = (struct store_range){ (uint64_t)from, (uint64_t)to };
	return err;
}
