/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Carries records of one profile over into another, or into a dictionary: those that are asked for and what they refer
 * to, no others. So a window costs what is in it, and an answer what it shows, however much there is besides.
 */
#ifndef WICK_STORE_CARRY_H
#define WICK_STORE_CARRY_H

#include <stdbool.h>
#include <stdint.h>

struct dict;
struct profile;

struct carry {
	const struct profile *from;
	struct profile *to;
	struct dict *dict;                                               /* whose model `to` is; or NULL */
	uint32_t *strings, *files, *processes, *frames, *labels, *nodes; /* numbers in `to`; 0: not there yet */
	uint32_t *path;                                                  /* of what is carried next */
	uint32_t path_cap;
};

/* Into a dictionary, or (dict NULL) into a profile. 0 or -ENOMEM; carry_end is due in either case. */
int carry_begin(struct carry *carry, const struct profile *from, struct profile *to, struct dict *dict);
void carry_end(struct carry *carry);

/* Their numbers in `to`; PROFILE_FULL if memory is out, or if there is no such number in `from`. */
uint32_t carry_string(struct carry *carry, uint32_t string);
uint32_t carry_labels(struct carry *carry, uint32_t set);
uint32_t carry_process(struct carry *carry, uint32_t process);
uint32_t carry_frame(struct carry *carry, uint32_t frame);
uint32_t carry_stack(struct carry *carry, uint32_t node);

#endif
