/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses of this very process become places in files, by /proc: the file there must hold the bytes that are in
 * memory here. What is in no file stays an address of its process.
 */
#include "collect/addresses.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proc/maps.h"
#include "profile/profile.h"

struct fixture {
	struct profile *profile;
	struct addresses *addresses;
	uint32_t process;
};

static struct fixture fixture;

static int read_maps(void *arg, uint32_t pid, struct buf *ret)
{
	(void)arg;
	return maps_read(pid, ret);
}

static int set_up(void **state)
{
	*state = &fixture;
	if (profile_new(&fixture.profile) || addresses_new(&fixture.addresses, fixture.profile, read_maps, NULL))
		return -1;
	fixture.process = profile_add_process(fixture.profile, (uint32_t)getpid(), 1);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	addresses_free(f->addresses);
	profile_free(f->profile);
	return 0;
}

static struct profile_frame find(const struct fixture *f, uint32_t pid, uint64_t address)
{
	struct profile_frame frame = { .kind = FRAME_JIT, .process = f->process, .address = address };

	addresses_find(f->addresses, pid, &frame);
	return frame;
}

static void assert_untouched(const struct fixture *f, uint32_t pid, uint64_t address)
{
	struct profile_frame frame = find(f, pid, address);

	assert_int_equal(frame.kind, FRAME_JIT);
	assert_int_equal(frame.process, f->process);
	assert_int_equal(frame.address, address);
	assert_int_equal(frame.file, PROFILE_NONE);
}

static const char *path_of(const struct fixture *f, const struct profile_frame *frame)
{
	return profile_text(f->profile, profile_file(f->profile, frame->file)->path, NULL);
}

static void assert_in_file(const struct fixture *f, uint64_t address, const char *path)
{
	struct profile_frame frame = find(f, (uint32_t)getpid(), address);
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	char there[16];

	assert_int_equal(frame.kind, FRAME_USER);
	assert_int_equal(frame.process, PROFILE_NONE);
	assert_string_equal(path_of(f, &frame), path);
	assert_true(fd >= 0);
	assert_int_not_equal(profile_file(f->profile, frame.file)->inode, 0);
	assert_int_equal(pread(fd, there, sizeof(there), (off_t)frame.address), sizeof(there));
	assert_memory_equal(there, (const void *)address, sizeof(there));
}

static void test_code_of_this_program(void **state)
{
	const struct fixture *f = *state;
	char path[4096] = "";

	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	assert_in_file(f, (uint64_t)&test_code_of_this_program, path);
	assert_in_file(f, (uint64_t)&addresses_find, path);
	assert_int_equal(profile_count(f->profile, PROFILE_FILES), 2); /* one file, found twice */
}

static void test_vdso(void **state)
{
	const struct fixture *f = *state;
	uint64_t base = getauxval(AT_SYSINFO_EHDR);
	struct profile_frame frame = find(f, (uint32_t)getpid(), base + 0x123);

	assert_int_not_equal(base, 0);
	assert_int_equal(frame.kind, FRAME_VDSO);
	assert_int_equal(frame.address, 0x123);
	assert_int_equal(frame.process, PROFILE_NONE);
	assert_int_equal(profile_count(f->profile, PROFILE_FILES), 1);
}

static void test_what_is_in_no_file(void **state)
{
	const struct fixture *f = *state;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char local;

	assert_true(at != MAP_FAILED);
	assert_untouched(f, (uint32_t)getpid(), (uint64_t)at);
	assert_untouched(f, (uint32_t)getpid(), (uint64_t)&local); /* [stack] is no path */
	assert_untouched(f, (uint32_t)getpid(), 0);
	assert_untouched(f, (uint32_t)getpid(), UINT64_MAX);
	munmap(at, page);
}

static void test_process_that_is_gone(void **state)
{
	const struct fixture *f = *state;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_untouched(f, (uint32_t)pid, (uint64_t)&test_process_that_is_gone);
	assert_untouched(f, 0, (uint64_t)&test_process_that_is_gone); /* not visible here */
}

/* Mappings are read once a window; the next window sees what is new. */
static void test_windows(void **state)
{
	const struct fixture *f = *state;
	autoclose int fd = memfd_create("late", MFD_CLOEXEC);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct profile_frame frame;
	char *at = mmap(NULL, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(fd >= 0 && at != MAP_FAILED && !ftruncate(fd, (off_t)(4 * page)));
	assert_untouched(f, (uint32_t)getpid(), (uint64_t)at + 5);
	assert_true(mmap(at, 2 * page, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, (off_t)page) == at);
	assert_untouched(f, (uint32_t)getpid(), (uint64_t)at + 5);
	addresses_forget(f->addresses);
	frame = find(f, (uint32_t)getpid(), (uint64_t)at + 5);
	assert_int_equal(frame.kind, FRAME_USER);
	assert_int_equal(frame.address, page + 5);
	assert_string_equal(path_of(f, &frame), "/memfd:late (deleted)");
	munmap(at, 2 * page);
}

/* More processes than are kept at once, twice round: the texts of one are never taken for another's. */
static void test_more_processes_than_are_kept(void **state)
{
	const struct fixture *f = *state;

	for (uint32_t round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 150; i++)
			assert_untouched(f, 0x7f000000 + i, (uint64_t)&test_windows);
		assert_int_equal(find(f, (uint32_t)getpid(), (uint64_t)&test_windows).kind, FRAME_USER);
	}
}

static void test_free_of_nothing(void **state)
{
	(void)state;
	addresses_free(NULL);
}

#define with_addresses(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_addresses(test_code_of_this_program),
		with_addresses(test_vdso),
		with_addresses(test_what_is_in_no_file),
		with_addresses(test_process_that_is_gone),
		with_addresses(test_windows),
		with_addresses(test_more_processes_than_are_kept),
		cmocka_unit_test(test_free_of_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
