/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks Go's table of functions in a file, for tests:
 *
 *   goname FILE <ADDRESSES
 *
 * Addresses are virtual, in hexadecimal, one a line. Prints a line for each: the address, then for each function at
 * it, innermost first, a tab and `name file:line`.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/budget.h"
#include "base/cleanup.h"
#include "elf/gopclntab.h"
#include "elf/image.h"

#define LIST 64
#define QUESTION_STEPS 4096 /* as sym/symbols.c */

static void answer(const struct image *image, const struct gopclntab *table)
{
	struct gopclntab_name list[LIST];
	uint64_t address;

	while (scanf("%" SCNx64, &address) == 1) {
		size_t count;

		budget_grant(image_budget(image), QUESTION_STEPS);
		count = gopclntab_find(table, address, list, LIST);

		printf("%" PRIx64, address);
		for (size_t i = 0; i < count; i++)
			printf("\t%.*s %.*s:%u", (int)list[i].len, list[i].name, (int)list[i].file_len,
			       list[i].file ? list[i].file : "", list[i].line);
		printf("\n");
	}
}

int main(int argc, char **argv)
{
	autoclose int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	struct gopclntab *table = NULL;
	struct image *image = NULL;
	int err = fd < 0 ? -EINVAL : image_open(&image, fd);

	if (!err)
		err = gopclntab_open(&table, image);
	if (!err)
		answer(image, table);
	else
		fprintf(stderr, "goname: %s\n", strerror(-err));
	gopclntab_free(table);
	image_free(image);
	return err != 0;
}
