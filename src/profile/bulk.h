/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many samples added at once. Looking a node up is waiting for memory, and a stack's nodes wait for each other; those
 * of different stacks do not. So stacks are gathered, and their nodes are looked up level by level, side by side.
 *
 * The same samples in the same order give the same profile. What was gathered is in it after bulk_flush.
 */
#ifndef WICK_PROFILE_BULK_H
#define WICK_PROFILE_BULK_H

#include <stddef.h>
#include <stdint.h>

struct bulk;
struct profile;
struct profile_sample;

int bulk_new(struct bulk **ret, struct profile *profile);
void bulk_free(struct bulk *bulk);

/* A stack: it begins with so many frames of the one before it, then others are added towards the leaf. */
int bulk_begin(struct bulk *bulk, size_t shared);
int bulk_frame(struct bulk *bulk, uint32_t frame);
/* Its sample; what `stack` says is filled in. 0 or -ENOMEM, also for what PROFILE_FULL was passed through. */
int bulk_end(struct bulk *bulk, const struct profile_sample *sample);

int bulk_flush(struct bulk *bulk);

#define BULK_MOST 256 /* samples that are gathered */

/* For who needs numbers of samples: told of all that were gathered, in their order. Its error is that of a flush. */
typedef int bulk_added(void *context, const uint32_t *samples, size_t len);
void bulk_tell(struct bulk *bulk, bulk_added *added, void *context);

#endif
