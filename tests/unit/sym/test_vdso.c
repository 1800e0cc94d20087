/* SPDX-License-Identifier: Apache-2.0 */
/* The copy of the vDSO is a whole ELF file that has the functions every C library calls there. */
#include "sym/vdso.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "elf/image.h"

static void test_copy(void **state)
{
	struct image_section names;
	struct image *image;
	const char *text;
	int fd = -1;

	(void)state;
	assert_int_equal(vdso_copy(&fd), 0);
	assert_true(fd >= 0);
	assert_int_equal(image_open(&image, fd), 0);
	assert_true(image_section_named(image, ".dynstr", &names));
	text = image_bytes(image, names.offset, names.size);
	assert_non_null(text);
	assert_non_null(memmem(text, names.size, "clock_gettime", sizeof("clock_gettime")));
	for (uint32_t i = 0; i < image_sections(image); i++) {
		struct image_section section;

		assert_true(image_section(image, i, &section));
		if (section.type != SHT_NOBITS)
			assert_non_null(image_bytes(image, section.offset, section.size));
	}
	image_free(image);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_copy) };

	/* Some sandboxes have none; then there is nothing to copy, and nothing mapped to name. */
	if (!getauxval(AT_SYSINFO_EHDR)) {
		print_message("1..0 # SKIP the kernel gives no vDSO\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
