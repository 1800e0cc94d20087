/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two profiles as one. Samples of the same stack, process and thread are added up, counters too; what each recording
 * was of, and for how long, is put together as wick-merge(1) says.
 */
#ifndef WICK_PROFILE_MERGE_H
#define WICK_PROFILE_MERGE_H

struct profile;

/*
 * Adds all of `from` to `into`. -EINVAL with fail() set, and nothing done, if their values are of different units;
 * -ENOMEM leaves `into` good for nothing but profile_free. The time is that of the second one's size.
 */
int merge_into(struct profile *into, const struct profile *from);

#endif
