/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information: how to find the caller, for every instruction of a file. Reads .eh_frame and .debug_frame and
 * runs their programs; what comes out is the whole file as one ascending sequence of rows. x86-64 register numbers.
 */
#ifndef WICK_ELF_CFI_H
#define WICK_ELF_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image;
struct cfi;

#define CFI_REGISTERS 17 /* 0 to 15 as DWARF numbers them (6 rbp, 7 rsp), 16 the return address */
#define CFI_FP 6
#define CFI_SP 7
#define CFI_RA 16

/* How a register of the caller is found. */
enum cfi_how {
	CFI_UNSET = 0,  /* nothing was said: as it is for callee-saved registers */
	CFI_SAME,       /* it has not changed */
	CFI_UNDEFINED,  /* it is lost; for the return address: there is no caller */
	CFI_AT_CFA,     /* in memory at CFA + value */
	CFI_IS_CFA,     /* it is CFA + value */
	CFI_REGISTER,   /* in register `value` */
	CFI_EXPRESSION, /* in memory at the address that the expression gives */
	CFI_IS_EXPRESSION,
};

struct cfi_rule {
	uint8_t how;
	uint32_t len; /* of the expression */
	int64_t value;
	const unsigned char *expression; /* in the file */
};

struct cfi_state {
	bool signal;        /* the frame was interrupted: its address is exact */
	uint32_t registers; /* two states of a file that have the same number here have the same rules of registers */
	/* The CFA: register + offset, or an expression if it is not NULL. */
	uint64_t cfa_register;
	int64_t cfa_offset;
	const unsigned char *cfa_expression;
	size_t cfa_len;
	struct cfi_rule rules[CFI_REGISTERS];
};

/*
 * What a file says and, where that says nothing, its debug file (NULL if there is none). -ENODATA if there is nothing,
 * -EFBIG if there is more than is sensible. The images must outlive it.
 */
int cfi_open(struct cfi **ret, const struct image *image, const struct image *debug);
void cfi_free(struct cfi *cfi);
size_t cfi_functions(const struct cfi *cfi);

/* Whether it says something about nearly all of the file's code: if not, a debug file is worth looking for. */
bool cfi_suffices(const struct cfi *cfi, const struct image *image);

/* A row: valid from the address until that of the next row. state NULL: nothing is known from here on. */
typedef int cfi_row(void *arg, uint64_t address, const struct cfi_state *state);

/* Calls back in ascending order of addresses. Stops when a callback fails. */
int cfi_rows(const struct cfi *cfi, cfi_row *row, void *arg);

#endif
