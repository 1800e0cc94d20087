/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks, written in any format that can be read and read again, come out with the same names and counts. The
 * stacks are made at random, of names that mean something to a format; what they should add up to is computed here by
 * texts alone. The seed is said when it fails.
 */
#include "in/in.h"

#include "base/fail.h" /* before cmocka, which has a macro of that name */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "out/out.h"
#include "profile/profile.h"

#define ROUNDS 300
#define LINES_MAX 60

/* These are pictures of a profile: they cannot be read again. */
static const char *const pictures[] = { "report", "svg", "html" };

/* Whole names, and parts to make others of. What needs an escape has it. */
static const char *const names[] = {
	"main",
	"operator new(unsigned long)",
	"[unknown]",
	"-",
	"--",
	"[kernel]+0xffffffff81000000_[k]",
	"[vdso]+0x6f0",
	"[jit]_[j]",
	"[incomplete: depth]",
	"[unnamed]",
	"libc.so.6+0x2f00",
	"cc1@0x5d2a10",
	"/bin/sh+0x1",
	"[file]+0x10",
	"a+0x0",
	"a+0x01",
	"_[k]",
	"x_[k]_[k]",
	"12",
	"1 2 3",
	"std::map<int, char>::find(int const&)",
	"App\\Foo\\Bar",
	"caf\xc3\xa9",
	"\\x5cx41",
	"",
	"\\xff\\xfe",
	"say \"<hi>&'\"",
};
static const char *const parts[] = { "a", "b", " ", "\\x3b", "\\x0a", "_[k]", "_[j]", "_[i]", "+0x1f", "@0xabc",
				     "0", "7", "/", "<",     "[",     "]",    "\\\\", "-",    ".",     "!" };

static uint64_t state;

static uint32_t dice(uint32_t sides)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(state >> 33) % sides;
}

static void add_name(struct buf *out, bool shorter)
{
	uint32_t count = 1 + dice(shorter ? 2 : 5);

	if (!shorter && dice(2)) {
		buf_adds(out, names[dice(sizeof(names) / sizeof(*names))]);
		return;
	}
	while (count--)
		buf_adds(out, parts[dice(sizeof(parts) / sizeof(*parts))]);
}

struct line {
	char *text;
	uint64_t count;
};

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->text, ((const struct line *)b)->text);
}

static int hottest_first(const void *a, const void *b)
{
	const struct line *left = a, *right = b;

	if (left->count != right->count)
		return left->count < right->count ? 1 : -1;
	return strcmp(left->text, right->text);
}

/* Random lines in `text`, and what they should come out as in `ret`. */
static void make(struct buf *text, struct buf *ret)
{
	struct line lines[LINES_MAX];
	size_t len = 1 + dice(LINES_MAX), kept = 0;
	bool any_first = dice(2);

	for (size_t i = 0; i < len; i++) {
		autobuf struct buf stack = { 0 };
		uint32_t depth = dice(7);

		add_name(&stack, !any_first);
		for (uint32_t k = 0; k < depth; k++) {
			buf_addc(&stack, ';');
			add_name(&stack, false);
		}
		if (!stack.len)
			buf_addc(&stack, 'e');
		lines[i] = (struct line){ strdup(stack.data), 1 + dice(4) };
		buf_addf(text, "%s %u\n", lines[i].text, (unsigned)lines[i].count);
	}
	qsort(lines, len, sizeof(*lines), by_text);
	for (size_t i = 0; i < len; i++) {
		if (kept && !strcmp(lines[kept - 1].text, lines[i].text)) {
			lines[kept - 1].count += lines[i].count;
			free(lines[i].text);
		} else {
			lines[kept++] = lines[i];
		}
	}
	qsort(lines, kept, sizeof(*lines), hottest_first);
	for (size_t i = 0; i < kept; i++) {
		buf_addf(ret, "%s %u\n", lines[i].text, (unsigned)lines[i].count);
		free(lines[i].text);
	}
}

/* What is read of the bytes, folded. */
static void fold(const struct buf *bytes, const struct out_format *format, struct profile **ret, struct buf *folded)
{
	if (in_read(ret, bytes->data, bytes->len))
		fail_msg("%s is not read again: %s", format->name, fail_text());
	assert_int_equal(out_folded(*ret, folded), 0);
}

static bool is_picture(const struct out_format *format)
{
	for (size_t i = 0; i < sizeof(pictures) / sizeof(*pictures); i++)
		if (!strcmp(format->name, pictures[i]))
			return true;
	return false;
}

static void check(const struct out_format *format, const struct profile *profile, const struct buf *wanted)
{
	autobuf struct buf bytes = { 0 }, twice = { 0 }, folded = { 0 };
	struct profile *again = NULL;

	assert_int_equal(format->write(profile, &bytes), 0);
	assert_int_equal(format->write(profile, &twice), 0);
	assert_int_equal(bytes.len, twice.len);
	assert_memory_equal(bytes.data, twice.data, bytes.len);
	if (is_picture(format))
		return;
	fold(&bytes, format, &again, &folded);
	profile_free(again);
	if (strcmp(folded.data, wanted->data) != 0) {
		print_error("%s\n--- is not\n%s\n", folded.data, wanted->data);
		fail_msg("%s does not give back what went in", format->name);
	}
}

static void test_identity(void **unused)
{
	(void)unused;
	for (unsigned round = 1; round <= ROUNDS; round++) {
		autobuf struct buf text = { 0 }, wanted = { 0 }, folded = { 0 };
		struct profile *profile = NULL;

		state = round;
		make(&text, &wanted);
		fold(&text, out_by_name("folded"), &profile, &folded);
		if (strcmp(folded.data, wanted.data) != 0)
			fail_msg("seed %u: %s\n--- is not\n%s", round, folded.data, wanted.data);
		for (const struct out_format *format = out_formats; format->name; format++)
			check(format, profile, &wanted);
		profile_free(profile);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_identity),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
