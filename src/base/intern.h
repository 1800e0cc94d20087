/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each distinct run of bytes once, under a small number. Number 0 is always the empty run. What is in stays in until
 * the whole table is freed.
 */
#ifndef WICK_BASE_INTERN_H
#define WICK_BASE_INTERN_H

#include <stddef.h>
#include <stdint.h>

struct intern;

int intern_new(struct intern **ret);
void intern_free(struct intern *intern);

/* The number of these bytes; UINT32_MAX if memory is out. */
uint32_t intern_bytes(struct intern *intern, const void *data, size_t len);
uint32_t intern_text(struct intern *intern, const char *text);

/* The bytes of a number, ended by a NUL that is not in *ret_len (may be NULL); of an unknown number the empty run. */
const char *intern_get(const struct intern *intern, uint32_t number, size_t *ret_len);
uint32_t intern_count(const struct intern *intern);
size_t intern_memory(const struct intern *intern);

#endif
