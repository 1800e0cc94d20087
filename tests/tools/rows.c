/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the unwind table of a file, as it comes back from the reader: rows FILE
 * or what it costs: rows -s FILE prints "rows N", "bytes N" in the kernel's reach, and "cpu_ms N" to build it.
 *
 * One row a line, ascending: address, kind of the rule, CFA, return address, then rbp, rbx and r12 to r15. Saved
 * registers as readelf writes them: c-16 is at the CFA less 16, f-24 at rbp less 24, - is not saved.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "bpf/wire.h"
#include "elf/cfi.h"
#include "elf/image.h"
#include "unwind/rows.h"

static const char *const names[16] = { "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
				       "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15" };
static const char *const kinds[WIRE_RULE_KINDS] = { "none", "register", "deref", "plt", "signal", "root", "odd" };

static void die(const char *what, int err)
{
	fprintf(stderr, "rows: %s: %s\n", what, strerror(-err));
	exit(1);
}

static void print_cfa(const struct wire_rule *rule)
{
	switch (rule->kind) {
	case WIRE_RULE_REGISTER:
		printf(" %s%+d", names[rule->reg & 15], rule->offset);
		break;
	case WIRE_RULE_DEREF:
		printf(" *%s%+d%+d", names[rule->reg & 15], rule->offset, rule->offset2);
		break;
	case WIRE_RULE_PLT:
		printf(" plt%d", rule->offset2);
		break;
	default:
		printf(" -");
	}
}

static void print_rule(const struct wire_rule *rule)
{
	printf(" %s", kinds[rule->kind]);
	print_cfa(rule);
	if (rule->flags & WIRE_RA_IN_REGISTER)
		printf(" %s", names[rule->ra_offset & 15]);
	else
		printf(" c%+d", rule->ra_offset);
	for (int i = 0; i < WIRE_SAVES; i++) {
		if (rule->saves[i] == WIRE_NOT_SAVED)
			printf(" -");
		else if (i == WIRE_SAVE_FP && rule->flags & WIRE_FP_IN_REGISTER)
			printf(" %s", names[rule->saves[i] & 15]);
		else
			printf(" %c%+d", rule->from_fp >> i & 1 ? 'f' : 'c', rule->saves[i]);
	}
	printf("\n");
}

static void print_page(const struct image *image, const struct rows_page *page, const struct wire_rule *rules,
		       uint32_t rules_len)
{
	for (uint32_t i = 0; i < page->count; i++) {
		uint64_t address, offset;
		uint16_t in_page, number;

		memcpy(&in_page, page->offsets + i, sizeof(in_page));
		memcpy(&number, page->rules + i, sizeof(number));
		offset = ((uint64_t)page->number << WIRE_PAGE_SHIFT) + in_page;
		if (number >= rules_len)
			die("a rule that there is not", -ERANGE);
		if (!image_offset_to_address(image, offset, &address))
			continue; /* the beginning of a page, before there is code */
		printf("%" PRIx64, address);
		print_rule(&rules[number]);
	}
}

static void print_table(const struct image *image, const struct buf *table)
{
	struct rows_reader reader;
	struct wire_rule *rules;
	int err = rows_open(&reader, table->data, table->len);

	if (err)
		die("reading the table", err);
	rules = calloc(reader.rules, sizeof(*rules));
	if (!rules)
		die("reading the table", -ENOMEM);
	for (uint32_t i = 0; i < reader.rules && !err; i++)
		err = rows_next_rule(&reader, &rules[i]);
	for (uint32_t i = 0; i < reader.pages && !err; i++) {
		struct rows_page page;

		err = rows_next_page(&reader, &page);
		if (!err)
			print_page(image, &page, rules, reader.rules);
	}
	if (err)
		die("reading the table", err);
	free(rules);
}

static void print_cost(const struct buf *table, double ms)
{
	struct rows_reader reader;
	int err = rows_open(&reader, table->data, table->len);

	if (err)
		die("reading the table", err);
	printf("rows %" PRIu64 "\nbytes %" PRIu64 "\ncpu_ms %.1f\n", reader.rows,
	       reader.rows * 4 + reader.pages * sizeof(struct wire_page) + reader.rules * sizeof(struct wire_rule), ms);
}

static double used_ms(void)
{
	return (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / NS_PER_MS;
}

int main(int argc, char **argv)
{
	bool cost = argc == 3 && !strcmp(argv[1], "-s");
	const char *path = argc == 2 || cost ? argv[argc - 1] : NULL;
	struct image *image = NULL;
	struct cfi *cfi = NULL;
	struct buf table = { 0 };
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	double begun = used_ms();
	int err = fd < 0 ? -EINVAL : image_open(&image, fd);

	if (err)
		die(path ? path : "usage: rows [-s] FILE", err);
	err = cfi_open(&cfi, image, NULL);
	err = err ? err : rows_build(image, cfi, &table);
	if (err)
		die("building the table", err);
	if (cost)
		print_cost(&table, used_ms() - begun);
	else
		print_table(image, &table);
	cfi_free(cfi);
	image_free(image);
	buf_free(&table);
	close(fd);
	return 0;
}
