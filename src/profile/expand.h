/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that turn out to be several: one address, and the functions that were inlined there. */
#ifndef WICK_PROFILE_EXPAND_H
#define WICK_PROFILE_EXPAND_H

#include <stddef.h>
#include <stdint.h>

struct expand;
struct profile;

int expand_new(struct expand **ret);
void expand_free(struct expand *expand);

/* This frame is really these, innermost first; itself may be among them. An empty list changes nothing. */
int expand_frame(struct expand *expand, uint32_t frame, const uint32_t *list, size_t len);

/* What a frame is really, as it was given; NULL if it is just itself. */
const uint32_t *expand_list(const struct expand *expand, uint32_t frame, size_t *ret_len);

/*
 * Puts the frames in, wherever the one they come from is in a stack. Numbers of stacks, samples and events change;
 * samples whose stacks become equal are added up. After an error the profile is not whole.
 */
int expand_apply(const struct expand *expand, struct profile *profile);

#endif
