/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Option tables: one table per command drives parsing, --help and shell completion. A command's options struct is
 * filled through offsets, so nothing is global.
 *
 *   static const struct opt options[] = {
 *           { 'F', "frequency", "HZ", opt_u64, offsetof(struct record_options, hz), "samples a second on each CPU" },
 *           { 0 },
 *   };
 *
 * Short options bundle (-KI) and take values attached or apart (-F99, -F 99); long ones too (--frequency=99,
 * --frequency 99). "--" ends options. Options and operands mix until then.
 */
#ifndef WICK_BASE_OPT_H
#define WICK_BASE_OPT_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct opt;

/* Reads `value` (NULL for a flag) into `into`, which is options struct + opt->offset. 0 or -EINVAL with fail() set. */
typedef int opt_reader(const struct opt *opt, const char *value, void *into);

struct opt {
	char letter; /* 0: none */
	const char *name;
	const char *value; /* what to call the value in help; NULL: a flag */
	opt_reader *read;
	size_t offset;
	const char *help; /* NULL: works, but is not shown */
	const char *hint; /* completion: "file", "dir", "pid", "cpu", or words separated by spaces; NULL: none */
};

opt_reader opt_flag;  /* bool */
opt_reader opt_u64;   /* uint64_t */
opt_reader opt_bytes; /* uint64_t, with K, M, G suffix (powers of 1024) */
opt_reader opt_text;  /* const char *, borrowed from argv */
opt_reader opt_list;  /* struct opt_list, appended: the option may be given again */

struct opt_list {
	const char **items;
	size_t len;
};

void opt_list_free(struct opt_list *list);

/*
 * Parses argv[1..]. Operands are gathered in `operands`; what follows "--" is left untouched and begins at the
 * returned index (argc if there is no "--"). -EINVAL with fail() set for anything unknown or malformed: the text names
 * the option and, where one is close, the one that was probably meant. -ECANCELED for --help or -h.
 */
int opt_parse(const struct opt *table, int argc, char **argv, void *options, struct opt_list *operands);

/* Appends the table as help text. */
void opt_help(const struct opt *table, struct buf *out);

#endif
