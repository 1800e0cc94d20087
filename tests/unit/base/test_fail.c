/* SPDX-License-Identifier: Apache-2.0 */
/* The words of an error: what a person reads on the one line that wick prints. */
#include "base/fail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* cmocka has a macro of that name */

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static bool ends_in(const char *text, const char *end)
{
	size_t len = strlen(text);

	return len >= strlen(end) && !strcmp(text + len - strlen(end), end);
}

static void test_reason_follows_words(void **state)
{
	(void)state;
	assert_int_equal(fail(-ENOENT, "reading '%s'", "x.wick"), -ENOENT);
	assert_string_equal(fail_text(), "reading 'x.wick': No such file or directory");
}

static void test_plain_has_no_reason(void **state)
{
	(void)state;
	assert_int_equal(fail_plain(-EINVAL, "not a profile"), -EINVAL);
	assert_string_equal(fail_text(), "not a profile");
}

static void test_hint_is_added(void **state)
{
	(void)state;
	fail(-EACCES, "opening the event");
	assert_int_equal(fail_hint(-EACCES, "run as %s", "root"), -EACCES);
	assert_string_equal(fail_text(), "opening the event: Permission denied: run as root");
}

static void test_new_error_replaces_old(void **state)
{
	(void)state;
	fail(-EACCES, "a long story about something else");
	fail_plain(-EINVAL, "short");
	assert_string_equal(fail_text(), "short");
}

static void test_own_text_as_argument(void **state)
{
	(void)state;
	fail_plain(-EINVAL, "inner");
	fail_plain(-EINVAL, "outer: %s", fail_text());
	assert_string_equal(fail_text(), "outer: inner");
	fail_hint(-EINVAL, "%s", fail_text());
	assert_string_equal(fail_text(), "outer: inner: outer: inner");
}

static void test_controls_are_visible(void **state)
{
	(void)state;
	fail_plain(-EINVAL, "%s",
		   "a\x1b[2Jb\nc\xff"
		   "d\xe2\x80\xae\xc2\x85é\x7f");
	assert_string_equal(fail_text(), "a\\x1b[2Jb\\x0ac\\xffd\\xe2\\x80\\xae\\xc2\\x85é\\x7f");
}

static void test_backslash_stays(void **state)
{
	(void)state;
	fail_plain(-EINVAL, "%s", "already\\x0aescaped");
	assert_string_equal(fail_text(), "already\\x0aescaped");
}

static void test_long_words_keep_reason_and_hint(void **state)
{
	char path[5000];

	(void)state;
	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	fail(-ENAMETOOLONG, "writing '%s'", path);
	fail_hint(-ENAMETOOLONG, "choose a shorter name");
	assert_true(strlen(fail_text()) < 1024);
	assert_non_null(strstr(fail_text(), "p…: File name too long: choose a shorter name"));
}

static void test_too_long_hint_ends_in_ellipsis(void **state)
{
	char hint[3000];

	(void)state;
	memset(hint, 'h', sizeof(hint) - 1);
	hint[sizeof(hint) - 1] = '\0';
	fail_plain(-EINVAL, "words");
	fail_hint(-EINVAL, "%s", hint);
	assert_int_equal(strlen(fail_text()), 1023);
	assert_true(ends_in(fail_text(), "h…"));
	fail_hint(-EINVAL, "no room for this");
	assert_true(ends_in(fail_text(), "h…"));
}

/* Cut at every possible place: never inside a character or an escape. */
static void test_cut_leaves_whole_characters(void **state)
{
	(void)state;
	for (size_t shift = 0; shift < 8; shift++) {
		char text[4000] = "";
		const char *end;

		memset(text, 'x', shift);
		for (size_t at = shift; at + 4 < sizeof(text); at += 4)
			memcpy(text + at, "€\n", 4);
		fail_plain(-EINVAL, "%s", text);
		end = fail_text() + strlen(fail_text());
		assert_true(strlen(fail_text()) < 1024);
		assert_memory_equal(end - 3, "…", 3);
		assert_true(!memcmp(end - 7, "\\x0a", 4) || !memcmp(end - 6, "€", 3));
	}
}

static void *fail_elsewhere(void *ret)
{
	bool *empty = ret;

	*empty = !*fail_text();
	fail_plain(-EINVAL, "of the other thread");
	return NULL;
}

static void test_threads_are_apart(void **state)
{
	pthread_t thread;
	bool empty = false;

	(void)state;
	fail_plain(-EINVAL, "mine");
	assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, &empty), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(empty);
	assert_string_equal(fail_text(), "mine");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reason_follows_words),
		cmocka_unit_test(test_plain_has_no_reason),
		cmocka_unit_test(test_hint_is_added),
		cmocka_unit_test(test_new_error_replaces_old),
		cmocka_unit_test(test_own_text_as_argument),
		cmocka_unit_test(test_controls_are_visible),
		cmocka_unit_test(test_backslash_stays),
		cmocka_unit_test(test_long_words_keep_reason_and_hint),
		cmocka_unit_test(test_too_long_hint_ends_in_ellipsis),
		cmocka_unit_test(test_cut_leaves_whole_characters),
		cmocka_unit_test(test_threads_are_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
