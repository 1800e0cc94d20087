/* SPDX-License-Identifier: Apache-2.0 */
/* Files read whole, and outputs of which nobody ever sees half. Each test has an empty folder to itself. */
#include "base/file.h"

#include "base/buf.h"
#include "base/fail.h" /* before cmocka, which has a macro named fail */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LARGE 300000 /* more than an output holds back */

static int set_up(void **state)
{
	char folder[] = "/tmp/wick-file-XXXXXX";

	umask(022);
	if (!mkdtemp(folder) || chdir(folder) < 0)
		return -1;
	*state = strdup(folder);
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	char *folder = *state;
	DIR *dir = opendir(".");
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (unlink(entry->d_name) < 0)
			rmdir(entry->d_name);
	}
	if (dir)
		closedir(dir);
	rmdir(folder);
	free(folder);
	return chdir("/");
}

/* How many files the folder has, hidden ones too. */
static int count_files(const char *folder)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	int count = -2; /* . and .. */

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		count++;
	closedir(dir);
	return count;
}

static void make_file(const char *path, const char *content, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(file_write_all(fd, content, strlen(content)), 0);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void check_content(const char *path, const char *expected)
{
	autobuf struct buf content = { 0 };

	buf_adds(&content, ">");
	assert_int_equal(file_read(path, 1 << 20, &content), 0);
	assert_string_equal(content.data + 1, expected);
}

static mode_t mode_of(const char *path)
{
	struct stat found;

	assert_int_equal(stat(path, &found), 0);
	return found.st_mode & 07777;
}

static int write_text(const char *path, const char *text)
{
	struct output *output = NULL;
	int err = output_open(&output, path);

	if (!err)
		err = output_write(output, text, strlen(text));
	if (!err)
		err = output_commit(output);
	output_free(output);
	return err;
}

static void check_refused(const char *path, int err, const char *words)
{
	struct output *output = NULL;

	assert_int_equal(output_open(&output, path), err);
	assert_null(output);
	assert_string_equal(fail_text(), words);
}

/* ---- reading ---- */

static void test_read_appends(void **state)
{
	autobuf struct buf content = { 0 };

	(void)state;
	make_file("a", "one", 0600);
	assert_int_equal(file_read("a", 3, &content), 0);
	assert_int_equal(file_read("a", 3, &content), 0);
	assert_string_equal(content.data, "oneone");
}

static void test_read_refuses_more_than_limit(void **state)
{
	autobuf struct buf content = { 0 };

	(void)state;
	buf_adds(&content, "before");
	make_file("a", "four", 0600);
	assert_int_equal(file_read("a", 3, &content), -EFBIG);
	assert_int_equal(file_read("a", 0, &content), -EFBIG);
	assert_int_equal(file_read("/dev/zero", 100000, &content), -EFBIG);
	assert_string_equal(content.data, "before");
	make_file("empty", "", 0600);
	assert_int_equal(file_read("empty", 0, &content), 0);
	assert_int_equal(file_read("a", SIZE_MAX, &content), 0);
	assert_string_equal(content.data, "beforefour");
}

static void test_read_files_without_size(void **state)
{
	autobuf struct buf content = { 0 };

	(void)state;
	assert_int_equal(file_read("/proc/self/stat", 4096, &content), 0);
	assert_true(content.len > 10);
	assert_int_equal(strtol(content.data, NULL, 10), getpid());
	buf_clear(&content);
	assert_int_equal(file_read("/sys/devices/system/cpu/online", 4096, &content), 0);
	assert_int_equal(content.data[content.len - 1], '\n');
}

static void test_read_failures(void **state)
{
	autobuf struct buf content = { 0 };

	(void)state;
	assert_int_equal(file_read("none", 10, &content), -ENOENT);
	assert_int_equal(file_read(".", 10, &content), -EISDIR);
	assert_int_equal(file_read_fd(-1, 10, &content), -EBADF);
	assert_int_equal(content.len, 0);
}

/* ---- writing ---- */

static void test_appears_only_at_commit(void **state)
{
	struct output *output;

	(void)state;
	assert_int_equal(output_open(&output, "new.svg"), 0);
	assert_int_equal(output_write(output, "half ", 5), 0);
	assert_int_equal(access("new.svg", F_OK), -1);
	assert_true(count_files(".") <= 1); /* none where files can be without a name */
	assert_int_equal(output_write(output, "whole", 5), 0);
	assert_int_equal(output_commit(output), 0);
	output_free(output);
	check_content("new.svg", "half whole");
	assert_int_equal(mode_of("new.svg"), 0644);
	assert_int_equal(count_files("."), 1);
}

static void test_umask_is_respected(void **state)
{
	(void)state;
	umask(077);
	assert_int_equal(write_text("private", "x"), 0);
	assert_int_equal(mode_of("private"), 0600);
}

static void test_large_and_small_writes(void **state)
{
	autobuf struct buf written = { 0 };
	autobuf struct buf content = { 0 };
	struct output *output;
	size_t at = 0;

	(void)state;
	for (int i = 0; i < LARGE; i++)
		buf_addc(&written, (char)(i * 7 + i / 256));
	assert_int_equal(output_open(&output, "large"), 0);
	for (size_t len = 1; at < LARGE; at += len, len = len * 3 % 100003) {
		if (len > LARGE - at)
			len = LARGE - at;
		assert_int_equal(output_write(output, written.data + at, len), 0);
	}
	assert_int_equal(output_write(output, NULL, 0), 0);
	assert_int_equal(output_commit(output), 0);
	output_free(output);
	assert_int_equal(file_read("large", LARGE, &content), 0);
	assert_int_equal(content.len, LARGE);
	assert_memory_equal(content.data, written.data, LARGE);
}

static void test_given_up_leaves_nothing(void **state)
{
	struct output *output;

	(void)state;
	make_file("old", "as it was", 0644);
	assert_int_equal(output_open(&output, "old"), 0);
	assert_int_equal(output_write(output, "half", 4), 0);
	output_free(output);
	check_content("old", "as it was");
	assert_int_equal(count_files("."), 1);
	output_free(NULL);
}

static void test_replaced_file_keeps_mode_and_group(void **state)
{
	gid_t group = geteuid() == 0 ? 65533 : getegid();
	struct stat found;

	(void)state;
	make_file("old", "a longer content than the new one", 0666);
	assert_int_equal(chown("old", (uid_t)-1, group), 0);
	assert_int_equal(write_text("old", "new"), 0);
	check_content("old", "new");
	assert_int_equal(mode_of("old"), 0666);
	assert_int_equal(stat("old", &found), 0);
	assert_int_equal(found.st_uid, geteuid());
	assert_int_equal(found.st_gid, group);
}

/* What somebody else prepared to be filled stays as it is, and his. */
static void test_file_of_somebody_else_is_refused(void **state)
{
	struct stat found;

	(void)state;
	make_file("theirs", "kept", 0666);
	if (geteuid() != 0) { /* such a file cannot be made: one that is ours is written */
		assert_int_equal(write_text("theirs", "new"), 0);
		return;
	}
	assert_int_equal(chown("theirs", 65534, 65533), 0);
	check_refused("theirs", -EPERM,
		      "writing 'theirs': it belongs to user 65534: remove it, or choose another name");
	check_content("theirs", "kept");
	assert_int_equal(stat("theirs", &found), 0);
	assert_int_equal(found.st_uid, 65534);
	assert_int_equal(count_files("."), 1);
}

/* With sudo from his own folder, what is made there is his; root's own files stay root's. */
static void test_sudo_user_owns_what_is_made_in_his_folder(void **state)
{
	uid_t owner = geteuid() == 0 ? 65534 : geteuid();
	struct stat found;

	(void)state;
	assert_int_equal(mkdir("home", 0700), 0);
	make_file("home/old", "old", 0640);
	make_file("home/roots", "old", 0640);
	if (geteuid() == 0) {
		assert_int_equal(chown("home", 65534, 65534), 0);
		assert_int_equal(chown("home/old", 65534, 65534), 0);
		assert_int_equal(write_text("home/new", "x"), -EPERM); /* without sudo he is somebody else */
	}
	setenv("SUDO_UID", "65534", 1);
	setenv("SUDO_GID", "65534", 1);
	assert_int_equal(write_text("home/new", "x"), 0);
	assert_int_equal(write_text("home/old", "x"), 0);
	assert_int_equal(write_text("home/roots", "x"), 0);
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	assert_int_equal(stat("home/new", &found), 0);
	assert_int_equal(found.st_uid, owner);
	assert_int_equal(stat("home/old", &found), 0);
	assert_int_equal(found.st_uid, owner);
	assert_int_equal(found.st_mode & 0777, 0640);
	assert_int_equal(stat("home/roots", &found), 0);
	assert_int_equal(found.st_uid, geteuid());
	assert_int_equal(count_files("home"), 3);
	unlink("home/new");
	unlink("home/old");
	unlink("home/roots");
}

/* The place is the folder that was opened, whatever has its name when the file is put there. */
static void test_folder_that_is_swapped_meanwhile(void **state)
{
	struct output *output;

	(void)state;
	assert_int_equal(mkdir("sub", 0755), 0);
	assert_int_equal(mkdir("elsewhere", 0755), 0);
	make_file("sub/x", "old", 0644);
	assert_int_equal(output_open(&output, "sub/x"), 0);
	assert_int_equal(output_write(output, "new", 3), 0);
	assert_int_equal(rename("sub", "moved"), 0);
	assert_int_equal(symlink("elsewhere", "sub"), 0);
	assert_int_equal(output_commit(output), 0);
	output_free(output);
	check_content("moved/x", "new");
	assert_int_equal(count_files("elsewhere"), 0);
	unlink("moved/x");
}

/* A link that takes the name meanwhile is replaced, not followed. */
static void test_link_that_appears_meanwhile(void **state)
{
	struct output *output;
	struct stat found;

	(void)state;
	assert_int_equal(output_open(&output, "x"), 0);
	assert_int_equal(symlink("elsewhere", "x"), 0);
	assert_int_equal(output_commit(output), 0);
	output_free(output);
	assert_int_equal(lstat("x", &found), 0);
	assert_true(S_ISREG(found.st_mode));
	assert_int_equal(count_files("."), 1);
}

/* Whoever can make names could give another file's mode to the result. */
static void test_mode_is_not_lent_by_a_hard_link(void **state)
{
	(void)state;
	assert_int_equal(mkdir("all", 0777), 0);
	assert_int_equal(chmod("all", 01777), 0);
	make_file("open", "open to everyone", 0666);
	assert_int_equal(link("open", "all/x"), 0);
	assert_int_equal(write_text("all/x", "new"), 0);
	assert_int_equal(mode_of("all/x"), 0644);
	check_content("open", "open to everyone");
	unlink("all/x");
}

static void test_reader_of_the_old_file_is_not_disturbed(void **state)
{
	autobuf struct buf content = { 0 };
	int fd;

	(void)state;
	make_file("old", "as it was", 0644);
	fd = open("old", O_RDONLY);
	assert_int_equal(write_text("old", "new"), 0);
	assert_int_equal(file_read_fd(fd, 100, &content), 0);
	assert_string_equal(content.data, "as it was");
	close(fd);
}

static void test_links_are_followed(void **state)
{
	struct stat found;

	(void)state;
	assert_int_equal(mkdir("sub", 0755), 0);
	make_file("sub/real", "old", 0600);
	assert_int_equal(symlink("real", "sub/second"), 0);
	assert_int_equal(symlink("sub/second", "first"), 0);
	assert_int_equal(write_text("first", "new"), 0);
	check_content("sub/real", "new");
	assert_int_equal(lstat("first", &found), 0);
	assert_true(S_ISLNK(found.st_mode));
	assert_int_equal(count_files("sub"), 2);
	assert_int_equal(unlink("sub/real"), 0);
	assert_int_equal(write_text("first", "again"), 0); /* it leads nowhere now */
	check_content("sub/real", "again");
	assert_int_equal(count_files("sub"), 2);
	unlink("sub/real");
	unlink("sub/second");
}

static void test_link_loop(void **state)
{
	(void)state;
	assert_int_equal(symlink("b", "a"), 0);
	assert_int_equal(symlink("a", "b"), 0);
	assert_int_equal(write_text("a", "x"), -ELOOP);
}

static void test_longest_name(void **state)
{
	char name[256];

	(void)state;
	memset(name, 'n', 255);
	name[255] = '\0';
	assert_int_equal(write_text(name, "x"), 0);
	check_content(name, "x");
}

static void test_bad_places_are_refused_early(void **state)
{
	(void)state;
	make_file("file", "", 0644);
	check_refused(".", -EISDIR, "writing '.': Is a directory");
	check_refused("none/x.svg", -ENOENT, "writing 'none/x.svg': No such file or directory");
	check_refused("new/", -EISDIR, "writing 'new/': Is a directory");
	check_refused("file/x", -ENOTDIR, "writing 'file/x': Not a directory");
	check_refused("", -ENOENT, "writing '': No such file or directory");
	assert_int_equal(count_files("."), 1);
}

static void test_no_permission_is_refused_early(void **state)
{
	uid_t user = geteuid();

	(void)state;
	assert_int_equal(mkdir("locked", 0555), 0);
	make_file("read-only", "kept", 0444);
	assert_int_equal(chmod(".", 0777), 0);
	if (user == 0)
		assert_int_equal(seteuid(65534), 0);
	check_refused("locked/x", -EACCES, "writing 'locked/x': Permission denied");
	check_refused("read-only", -EACCES, "writing 'read-only': Permission denied");
	assert_int_equal(seteuid(user), 0);
	check_content("read-only", "kept");
}

static void test_target_became_a_folder(void **state)
{
	struct output *output;

	(void)state;
	assert_int_equal(output_open(&output, "x"), 0);
	assert_int_equal(mkdir("x", 0755), 0);
	assert_int_equal(output_commit(output), -EISDIR);
	assert_string_equal(fail_text(), "writing 'x': Is a directory");
	output_free(output);
	assert_int_equal(count_files("."), 1);
}

static void test_nothing_after_commit(void **state)
{
	struct output *output;

	(void)state;
	assert_int_equal(output_open(&output, "x"), 0);
	assert_int_equal(output_commit(output), 0);
	assert_int_equal(output_write(output, "y", 1), -EBADF);
	assert_int_equal(output_commit(output), -EBADF);
	output_free(output);
	check_content("x", "");
}

/* ---- what cannot be replaced ---- */

static void test_devices_stay_devices(void **state)
{
	struct stat found;

	(void)state;
	assert_int_equal(write_text("/dev/null", "x"), 0);
	assert_int_equal(stat("/dev/null", &found), 0);
	assert_true(S_ISCHR(found.st_mode));
	assert_int_equal(write_text("/dev/full", "x"), -ENOSPC);
	assert_string_equal(fail_text(), "writing '/dev/full': No space left on device");
}

static void test_full_device_fails_again(void **state)
{
	static const char zeros[LARGE];
	struct output *output;

	(void)state;
	assert_int_equal(output_open(&output, "/dev/full"), 0);
	assert_int_equal(output_write(output, zeros, LARGE), -ENOSPC);
	assert_int_equal(output_write(output, "x", 1), -ENOSPC);
	assert_int_equal(output_commit(output), -ENOSPC);
	output_free(output);
}

static void test_fifo_is_written_to(void **state)
{
	autobuf struct buf content = { 0 };
	struct stat found;
	int fd;

	(void)state;
	assert_int_equal(mkfifo("fifo", 0600), 0);
	fd = open("fifo", O_RDONLY | O_NONBLOCK);
	assert_int_equal(write_text("fifo", "through"), 0);
	assert_int_equal(file_read_fd(fd, 100, &content), 0);
	assert_string_equal(content.data, "through");
	assert_int_equal(lstat("fifo", &found), 0);
	assert_true(S_ISFIFO(found.st_mode));
	close(fd);
}

/* Puts `fd` in the place of standard output, writes, and puts it back. */
static int write_stdout(int fd, const char *path, const char *text)
{
	int saved = dup(STDOUT_FILENO);
	int err;

	fflush(stdout);
	if (fd >= 0)
		dup2(fd, STDOUT_FILENO);
	else
		close(STDOUT_FILENO);
	err = write_text(path, text);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	if (fd >= 0)
		close(fd);
	return err;
}

static void test_stdout(void **state)
{
	(void)state;
	make_file("log", "before ", 0644);
	assert_int_equal(write_stdout(open("log", O_WRONLY | O_APPEND), "-", "one "), 0);
	assert_int_equal(write_stdout(open("log", O_WRONLY | O_APPEND), "/dev/stdout", "two"), 0);
	check_content("log", "before one two");
	assert_int_equal(count_files("."), 1);
}

static void test_stdout_failures(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(write_stdout(open("/dev/full", O_WRONLY), "-", "x"), -ENOSPC);
	assert_string_equal(fail_text(), "writing standard output: No space left on device");
	assert_int_equal(write_stdout(open("/dev/null", O_RDONLY), "-", "x"), -EBADF);
	assert_int_equal(write_stdout(-1, "-", "x"), -EBADF);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	assert_int_equal(write_stdout(ends[1], "-", "x"), -EPIPE);
}

/* A file that has lost its name, reached through its descriptor, is written in place and gets no new name. */
static void test_file_without_a_name(void **state)
{
	autobuf struct buf content = { 0 };
	char path[64];
	int fd;

	(void)state;
	make_file("gone", "old content", 0644);
	fd = open("gone", O_RDWR);
	assert_int_equal(unlink("gone"), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(write_text(path, "new"), 0);
	assert_int_equal(file_read_fd(fd, 100, &content), 0);
	assert_string_equal(content.data, "new");
	assert_int_equal(count_files("."), 0);
	close(fd);
}

/* A descriptor's file is written where it is: whoever gave it to us reads it there. */
static void test_file_of_a_descriptor(void **state)
{
	autobuf struct buf content = { 0 };
	char path[64];
	int fd;

	(void)state;
	make_file("named", "a longer content than the new one", 0644);
	fd = open("named", O_RDWR);
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	assert_int_equal(write_text(path, "new"), 0);
	assert_int_equal(file_read_fd(fd, 100, &content), 0);
	assert_string_equal(content.data, "new");
	assert_int_equal(count_files("."), 1);
	close(fd);
}

static void test_slow_reader_of_nonblocking_pipe(void **state)
{
	static char data[LARGE];
	autobuf struct buf content = { 0 };
	int ends[2], status;
	pid_t child;

	(void)state;
	memset(data, 'd', sizeof(data));
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child)
		_exit(file_write_all(ends[1], data, sizeof(data)) ? 1 : 0);
	close(ends[1]);
	assert_int_equal(file_read_fd(ends[0], LARGE, &content), 0);
	assert_int_equal(content.len, LARGE);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	close(ends[0]);
}

#define in_folder(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(test_read_appends),
		in_folder(test_read_refuses_more_than_limit),
		in_folder(test_read_files_without_size),
		in_folder(test_read_failures),
		in_folder(test_appears_only_at_commit),
		in_folder(test_umask_is_respected),
		in_folder(test_large_and_small_writes),
		in_folder(test_given_up_leaves_nothing),
		in_folder(test_replaced_file_keeps_mode_and_group),
		in_folder(test_file_of_somebody_else_is_refused),
		in_folder(test_sudo_user_owns_what_is_made_in_his_folder),
		in_folder(test_folder_that_is_swapped_meanwhile),
		in_folder(test_link_that_appears_meanwhile),
		in_folder(test_mode_is_not_lent_by_a_hard_link),
		in_folder(test_reader_of_the_old_file_is_not_disturbed),
		in_folder(test_links_are_followed),
		in_folder(test_link_loop),
		in_folder(test_longest_name),
		in_folder(test_bad_places_are_refused_early),
		in_folder(test_no_permission_is_refused_early),
		in_folder(test_target_became_a_folder),
		in_folder(test_nothing_after_commit),
		in_folder(test_devices_stay_devices),
		in_folder(test_full_device_fails_again),
		in_folder(test_fifo_is_written_to),
		in_folder(test_stdout),
		in_folder(test_stdout_failures),
		in_folder(test_file_without_a_name),
		in_folder(test_file_of_a_descriptor),
		in_folder(test_slow_reader_of_nonblocking_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
