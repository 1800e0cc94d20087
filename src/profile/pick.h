/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies samples from a large profile into a small one, with what they need and nothing else: how a window is taken out
 * of a recording that goes on. The work is that of the samples, not of the profile that they come from.
 */
#ifndef WICK_PROFILE_PICK_H
#define WICK_PROFILE_PICK_H

#include <stddef.h>
#include <stdint.h>

struct expand;
struct pick;
struct profile;
struct profile_stacks;

/* `expand` says which frames are really several; NULL: none. All three must outlive it, and `from` may not grow. */
int pick_new(struct pick **ret, const struct profile *from, const struct expand *expand, struct profile *into);
void pick_free(struct pick *pick);

/* What was done and on what; times are left as they are. */
int pick_meta(struct pick *pick);

/*
 * Samples and events that were taken out of `from` (profile_take_samples). Where some go to the same place values are
 * added up. Events become relative to the start of `into`, and are put at its ends where they lie beyond. The new
 * numbers of samples are in `ret_numbers`, by the old ones, unless it is NULL.
 */
int pick_samples(struct pick *pick, const struct profile_stacks *stacks, uint32_t *ret_numbers);

/* A frame by itself, as it is now; its number, or PROFILE_FULL. */
uint32_t pick_frame(struct pick *pick, uint32_t frame);

/* The number of a process that came with a sample. */
uint32_t pick_process(struct pick *pick, uint32_t process);

#endif
