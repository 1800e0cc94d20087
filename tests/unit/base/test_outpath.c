/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which place a path leads to, and which places are refused. Each test has an empty folder to itself. What only root
 * can prepare (files of somebody else) is tried when root runs it; the rest holds for everyone.
 */
#include "base/outpath.h"

#include "base/cleanup.h"
#include "base/fail.h" /* before cmocka, which has a macro named fail */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SOMEBODY 65534

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at)
{
	(void)info, (void)kind, (void)at;
	return remove(path);
}

static int set_up(void **state)
{
	char folder[] = "/tmp/wick-outpath-XXXXXX";

	umask(022);
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	if (!mkdtemp(folder) || chdir(folder) < 0)
		return -1;
	*state = strdup(folder);
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	char *folder = *state;
	int err = chdir("/") || nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);

	free(folder);
	return err;
}

static void make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);

	assert_true(fd >= 0);
	close(fd);
}

static void make_folder(const char *path, mode_t mode)
{
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chmod(path, mode), 0);
}

/* The path leads to `name` in `folder`; whether there is something. */
static void check_leads(const char *path, const char *folder, const char *name, bool exists)
{
	struct outpath place;
	struct stat wanted, found;

	assert_int_equal(outpath_find(&place, path, "writing"), 0);
	assert_string_equal(place.name, name);
	assert_int_equal(place.found >= 0, exists);
	assert_int_equal(stat(folder, &wanted), 0);
	assert_int_equal(fstat(place.folder, &found), 0);
	assert_int_equal(found.st_dev, wanted.st_dev);
	assert_int_equal(found.st_ino, wanted.st_ino);
	outpath_free(&place);
}

static void check_fails(const char *path, int err)
{
	struct outpath place;

	assert_int_equal(outpath_find(&place, path, "writing"), err);
}

/* Only root is refused; for everyone else the kernel's own rules are enough. */
static void check_refused_to_root(const char *path, const char *words)
{
	struct outpath place = { .folder = -1, .found = -1 };
	int err = outpath_find(&place, path, "writing");

	if (geteuid() == 0) {
		assert_int_equal(err, -EPERM);
		assert_string_equal(fail_text(), words);
	} else {
		assert_int_equal(err, 0);
	}
	outpath_free(&place);
}

/* ---- What the kernel would find ---- */

static void test_names_and_folders(void **state)
{
	char absolute[PATH_MAX];

	make_folder("a", 0755);
	make_folder("a/b", 0755);
	make_file("a/b/there");
	check_leads("new", ".", "new", false);
	check_leads("./a//b/./there", "a/b", "there", true);
	check_leads("a/b/../new", "a", "new", false);
	check_leads("/tmp/../etc/wick-new", "/etc", "wick-new", false);
	snprintf(absolute, sizeof(absolute), "/%s///a/b/new", (char *)*state);
	check_leads(absolute, "a/b", "new", false);
	check_leads("/proc/self/cwd/a/new", "a", "new", false);
}

static void test_links(void **state)
{
	char absolute[PATH_MAX];

	make_folder("a", 0755);
	make_folder("b", 0755);
	snprintf(absolute, sizeof(absolute), "%s/b/", (char *)*state);
	assert_int_equal(symlink(absolute, "a/to-b"), 0);
	assert_int_equal(symlink("a/to-b/../b/new", "dangling"), 0);
	assert_int_equal(symlink("dangling", "twice"), 0);
	check_leads("a/to-b/x", "b", "x", false);
	check_leads("a/to-b/../y", ".", "y", false);
	check_leads("twice", "b", "new", false);
	make_file("b/new");
	check_leads("twice", "b", "new", true);
}

static void test_what_is_no_file(void **state)
{
	char deep[50 * 3 + 1] = "", name[NAME_MAX + 2];

	(void)state;
	make_folder("folder", 0755);
	make_file("file");
	assert_int_equal(symlink("folder", "link"), 0);
	assert_int_equal(symlink("loop", "loop"), 0);
	check_fails("", -ENOENT);
	check_fails("/", -EISDIR);
	check_fails(".", -EISDIR);
	check_fails("folder/..", -EISDIR);
	check_fails("folder", -EISDIR);
	check_fails("link", -EISDIR);
	check_fails("link/", -EISDIR);
	check_fails("new/", -EISDIR);
	check_fails("file/", -ENOTDIR);
	check_fails("file/x", -ENOTDIR);
	check_fails("none/x", -ENOENT);
	check_fails("loop", -ELOOP);
	check_fails("loop/x", -ELOOP);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	check_fails(name, -ENAMETOOLONG);
	for (int i = 0; i < 50; i++)
		strcat(deep, "./");
	strcat(deep, "x");
	check_leads(deep, ".", "x", false);
}

static void test_links_are_bounded(void **state)
{
	char from[32], to[32];

	(void)state;
	for (int i = 0; i < 60; i++) {
		snprintf(from, sizeof(from), "l%d", i);
		snprintf(to, sizeof(to), "l%d", i + 1);
		assert_int_equal(symlink(to, from), 0);
	}
	check_leads("l20", ".", "l60", false);
	check_fails("l19", -ELOOP);
}

/* ---- Where others can make names ---- */

static void test_folder_for_everyone(void **state)
{
	(void)state;
	make_folder("open", 0777);
	make_folder("open/sub", 0755);
	make_folder("sticky", 01777);
	make_folder("sticky/sub", 0755);
	make_folder("group", 0775);
	assert_int_equal(chown("group", (uid_t)-1, geteuid() ? getegid() : SOMEBODY), 0);
	check_refused_to_root("open/x", "writing 'open/x': others than root can change the folder './open': "
					"choose a folder of your own");
	check_refused_to_root("open/sub/x", "writing 'open/sub/x': others than root can change the folder './open': "
					    "choose a folder of your own");
	check_refused_to_root("sticky/../open/x", "writing 'sticky/../open/x': others than root can change the folder "
						  "'./sticky/../open': choose a folder of your own");
	check_refused_to_root("group/x", "writing 'group/x': others than root can change the folder './group': "
					 "choose a folder of your own");
	check_leads("sticky/x", "sticky", "x", false);
	check_leads("sticky/sub/x", "sticky/sub", "x", false);
}

/* An ACL for one user makes the folder look like one that its group can write. */
static void test_folder_with_an_acl(void **state)
{
	static const struct {
		uint32_t version;
		struct {
			uint16_t tag, rights;
			uint32_t id;
		} entries[5];
	} acl = { 2,
		  { { 0x01, 7, UINT32_MAX },
		    { 0x02, 7, SOMEBODY },
		    { 0x04, 5, UINT32_MAX },
		    { 0x10, 7, UINT32_MAX },
		    { 0x20, 5, UINT32_MAX } } };

	(void)state;
	make_folder("lent", 0755);
	if (setxattr("lent", "system.posix_acl_access", &acl, sizeof(acl), 0)) {
		assert_int_equal(errno, EOPNOTSUPP); /* then nobody can lend a folder here */
		return;
	}
	check_refused_to_root("lent/x", "writing 'lent/x': others than root can change the folder './lent': "
					"choose a folder of your own");
}

static void test_what_somebody_left_in_a_folder_for_everyone(void **state)
{
	(void)state;
	make_folder("sticky", 01777);
	make_folder("safe", 0755);
	make_file("sticky/ours");
	assert_int_equal(symlink("../safe/x", "sticky/our-link"), 0);
	check_leads("sticky/ours", "sticky", "ours", true);
	check_leads("sticky/our-link", "safe", "x", false);
	if (geteuid() != 0)
		return; /* nobody else's can be made */
	make_file("sticky/file");
	assert_int_equal(mkfifo("sticky/fifo", 0666), 0);
	assert_int_equal(mkfifo("safe/fifo", 0666), 0);
	assert_int_equal(symlink("../safe/x", "sticky/link"), 0);
	assert_int_equal(symlink("../safe", "sticky/folder-link"), 0);
	assert_int_equal(symlink("x", "safe/link"), 0);
	make_folder("sticky/folder", 0755);
	assert_int_equal(lchown("sticky/file", SOMEBODY, SOMEBODY), 0);
	assert_int_equal(lchown("sticky/fifo", SOMEBODY, SOMEBODY), 0);
	assert_int_equal(lchown("safe/fifo", SOMEBODY, SOMEBODY), 0);
	assert_int_equal(lchown("sticky/link", SOMEBODY, SOMEBODY), 0);
	assert_int_equal(lchown("sticky/folder-link", SOMEBODY, SOMEBODY), 0);
	assert_int_equal(lchown("safe/link", SOMEBODY, SOMEBODY), 0);
	assert_int_equal(lchown("sticky/folder", SOMEBODY, SOMEBODY), 0);
	check_refused_to_root("sticky/link", "writing 'sticky/link': user 65534 made the link 'link' in the folder "
					     "'./sticky', where everyone can: remove it, or choose another name");
	check_fails("sticky/folder-link/x", -EPERM);
	check_fails("sticky/folder/x", -EPERM);
	check_fails("sticky/file", -EPERM);
	check_fails("sticky/fifo", -EPERM);
	check_leads("safe/fifo", "safe", "fifo", true); /* which root alone can have put there */
	check_leads("safe/link", "safe", "x", false);
}

/* The same for others than root, by the rules that the kernel has for them. */
static void test_what_everyone_else_is_refused(void **state)
{
	uid_t user = geteuid();

	(void)state;
	make_folder("sticky", 01777);
	make_folder("open", 0777);
	assert_int_equal(chmod(".", 0755), 0);
	assert_int_equal(symlink("x", "sticky/link"), 0);
	assert_int_equal(symlink("x", "open/link"), 0);
	make_file("sticky/file");
	make_file("open/file");
	if (user == 0) {
		assert_int_equal(lchown("sticky/link", 1, 1), 0);
		assert_int_equal(lchown("open/link", 1, 1), 0);
		assert_int_equal(seteuid(SOMEBODY), 0);
		check_fails("sticky/link", -EPERM);
		check_fails("sticky/file", -EPERM);
	}
	check_leads("open/link", "open", "x", false);
	check_leads("open/file", "open", "file", true);
	assert_int_equal(seteuid(user), 0);
}

static void test_sudo(void **state)
{
	struct outpath place;

	(void)state;
	make_folder("home", 0755);
	if (geteuid() == 0)
		assert_int_equal(chown("home", SOMEBODY, SOMEBODY), 0);
	check_refused_to_root("home/x", "writing 'home/x': others than root can change the folder './home': "
					"choose a folder of your own");
	setenv("SUDO_UID", "65534", 1);
	setenv("SUDO_GID", "65534", 1);
	assert_int_equal(outpath_find(&place, "home/x", "writing"), 0);
	assert_int_equal(place.as_sudo, geteuid() == 0);
	outpath_free(&place);
	assert_int_equal(outpath_find(&place, "x", "writing"), 0);
	assert_false(place.as_sudo);
	outpath_free(&place);
	/* A group of his own may write there too, by which many distributions make folders; a group of many may not. */
	assert_int_equal(chmod("home", 0775), 0);
	check_leads("home/x", "home", "x", false);
	setenv("SUDO_GID", "100", 1);
	check_refused_to_root("home/x", "writing 'home/x': others than root can change the folder './home': "
					"choose a folder of your own");
	setenv("SUDO_UID", "nobody", 1);
	check_refused_to_root("home/x", "writing 'home/x': others than root can change the folder './home': "
					"choose a folder of your own");
}

/* ---- Folders ---- */

static void test_folder_is_made(void **state)
{
	autofree char *real = NULL, *again = NULL, *linked = NULL;
	char wanted[PATH_MAX];
	struct stat info;

	snprintf(wanted, sizeof(wanted), "%s/data", (char *)*state);
	assert_int_equal(outpath_folder(&real, "data", 0700, "store"), 0);
	assert_string_equal(real, wanted);
	assert_int_equal(stat("data", &info), 0);
	assert_int_equal(info.st_mode & 07777, 0700);
	assert_int_equal(outpath_folder(&again, "./data/", 0700, "store"), 0);
	assert_string_equal(again, wanted);
	assert_int_equal(symlink("data", "link"), 0);
	assert_int_equal(outpath_folder(&linked, "link", 0700, "store"), 0);
	assert_string_equal(linked, wanted);
}

static void check_no_folder(const char *path, int err, const char *words)
{
	char *real = NULL;

	assert_int_equal(outpath_folder(&real, path, 0700, "store"), err);
	assert_null(real);
	assert_string_equal(fail_text(), words);
}

static void test_folder_that_is_refused(void **state)
{
	autofree char *real = NULL;

	(void)state;
	make_file("file");
	check_no_folder("none/data", -ENOENT, "store 'none/data': No such file or directory");
	check_no_folder("file", -ENOTDIR, "store 'file': Not a directory");
	if (geteuid() != 0)
		return;
	make_folder("theirs", 0755);
	make_folder("theirs/ours", 0700);
	assert_int_equal(chown("theirs", SOMEBODY, SOMEBODY), 0);
	check_no_folder("theirs/data", -EPERM,
			"store 'theirs/data': others than root can change the folder './theirs': "
			"choose a folder of your own");
	assert_int_equal(access("theirs/data", F_OK), -1);
	/* Begun inside of it, its path leads through it all the same. */
	assert_int_equal(chdir("theirs/ours"), 0);
	assert_int_equal(outpath_folder(&real, "data", 0700, "store"), -EPERM);
	assert_int_equal(chdir("../.."), 0);
}

static void test_owner_of_a_folder(void **state)
{
	char path[PATH_MAX];
	uid_t uid = 1;
	gid_t gid = 1;

	make_folder("a", 0755);
	make_folder("a/b", 0755);
	snprintf(path, sizeof(path), "%s/a/b", (char *)*state);
	assert_int_equal(outpath_owner(path, "store", &uid, &gid), 0);
	assert_int_equal(uid, 0); /* nobody else's, whoever we are */
	if (geteuid() == 0) {
		assert_int_equal(chown("a", SOMEBODY, 7), 0);
		assert_int_equal(outpath_owner(path, "store", &uid, &gid), 0);
		assert_int_equal(uid, SOMEBODY);
		assert_int_equal(gid, 7);
	}
	assert_int_equal(outpath_owner("/no/such", "store", &uid, &gid), -ENOENT);
}

#define in_folder(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(test_names_and_folders),
		in_folder(test_links),
		in_folder(test_what_is_no_file),
		in_folder(test_links_are_bounded),
		in_folder(test_folder_for_everyone),
		in_folder(test_folder_with_an_acl),
		in_folder(test_what_somebody_left_in_a_folder_for_everyone),
		in_folder(test_what_everyone_else_is_refused),
		in_folder(test_sudo),
		in_folder(test_folder_is_made),
		in_folder(test_folder_that_is_refused),
		in_folder(test_owner_of_a_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
