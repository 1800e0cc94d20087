/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Counting. A stack that user space does not have yet is sent first, and only then counted: what is counted can always
 * be named. Each way to fail has its counter, and exactly one counter is raised for each sample taken.
 */
#ifndef WICK_BPF_COUNT_H
#define WICK_BPF_COUNT_H

#include "bpf/state.h"
#include "bpf/user.h"

/* Wakes user space only when the ring fills: it comes by itself before that on a quiet machine. */
static __always_inline __u64 count_wakeup(void *map)
{
	return bpf_ringbuf_query(map, BPF_RB_AVAIL_DATA) > settings.wakeup_bytes ? BPF_RB_FORCE_WAKEUP
										 : BPF_RB_NO_WAKEUP;
}

/* Its path is wanted while it is there: user space is told of each group once, and at once. */
static __always_inline void count_tell(__u64 id)
{
	struct wire_group group = { .type = WIRE_GROUP, .id = id };
	__u32 one = 1;

	if (bpf_map_lookup_elem(&groups, &id) || bpf_map_update_elem(&groups, &id, &one, BPF_NOEXIST))
		return;
	if (bpf_ringbuf_output(&ring, &group, sizeof(group), BPF_RB_FORCE_WAKEUP))
		bpf_map_delete_elem(&groups, &id); /* the next one that meets it tries again */
}

static __always_inline void count_group(struct scratch *s)
{
	if (s->group != s->key.cgroup)
		count_tell(s->key.cgroup);
	s->group = s->key.cgroup;
}

/* Errors of map updates are kept in an int: before 6.4 the kernel leaves the upper half of the result undefined. */
static __always_inline int count_error(int err)
{
	return err == -E2BIG ? WIRE_lost_stacks : WIRE_lost_error;
}

/* Takes room for one more stack before it is sent: what has no room must cost user space nothing. */
static __always_inline int count_take_room(__u64 id, __u64 user, struct wire_usage *usage)
{
	__u32 begun = KNOWN_BEGUN;
	int err;

	if (!WIRE_USER_MAY(user, usage ? usage->stacks : 0, session.stacks, settings.max_stacks))
		return WIRE_lost_user_stacks;
	err = bpf_map_update_elem(&known, &id, &begun, BPF_NOEXIST);
	if (err)
		return err == -EEXIST ? 0 : count_error(err);
	__sync_fetch_and_add(&session.stacks, 1);
	if (usage)
		__sync_fetch_and_add(&usage->stacks, 1);
	return 0;
}

static __always_inline long count_output(struct scratch *s, bool kernel, __u64 len)
{
	__u64 wakeup = count_wakeup(&ring);

	asm volatile("" : "+r"(len));
	if (kernel)
		return len > sizeof(s->kernel) + sizeof(s->kernel_frames)
			       ? -E2BIG
			       : bpf_ringbuf_output(&ring, &s->kernel, len, wakeup);
	return len > sizeof(s->user) + sizeof(s->user_frames) ? -E2BIG
							      : bpf_ringbuf_output(&ring, &s->user, len, wakeup);
}

/*
 * Makes sure that user space has the stack. 0, or the counter of what went wrong. A stack that another CPU is sending
 * is sent here as well: that one may fail.
 */
__attribute__((noinline)) int count_send(__u32 which, bool kernel, __u64 len)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &which);
	struct wire_usage *usage;
	__u64 id, user;
	__u32 *state;
	int lost;

	if (!s)
		return WIRE_lost_error;
	id = kernel ? s->kernel.id : s->hash;
	state = bpf_map_lookup_elem(&known, &id);
	if (state && *state == KNOWN_SENT)
		return 0;
	user = user_current();
	usage = user_usage(user);
	if (usage && !user_may_send(user, &ring, usage->ring_bytes, settings.ring_bytes))
		return WIRE_lost_user_ring;
	lost = state ? 0 : count_take_room(id, user, usage);
	if (lost)
		return lost;
	if (count_output(s, kernel, len))
		return WIRE_lost_ring; /* its room stays taken: it will be sent when it is met again */
	state = bpf_map_lookup_elem(&known, &id);
	if (state)
		*state = KNOWN_SENT;
	if (usage)
		__sync_fetch_and_add(&usage->ring_bytes, len);
	return 0;
}

static __always_inline int count_user(struct scratch *s)
{
	s->user.type = WIRE_USER_STACK;
	s->user.count = s->frames;
	s->user.id = s->hash;
	return count_send(s->which, false, sizeof(s->user) + s->frames * sizeof(struct wire_frame));
}

static __always_inline int count_kernel(struct scratch *s)
{
	s->kernel.type = WIRE_KERNEL_STACK;
	return count_send(s->which, true, sizeof(s->kernel) + s->kernel.count * sizeof(__u64));
}

/* The place of a key among those of its CPU. */
static __always_inline struct wire_tally *count_tally(__u32 generation, const struct wire_key *key)
{
	__u32 index = (generation & 1) * settings.cpus + bpf_get_smp_processor_id();
	struct wire_tallies *all = bpf_map_lookup_elem(&tallies, &index);
	__u64 at = key->user + key->kernel + key->pid * 31 + key->tid * 17;

	at = (at ^ at >> 32) & (WIRE_TALLIES - 1);
	return all ? &all->items[at] : NULL;
}

static __always_inline bool count_is(const struct wire_tally *tally, const struct wire_key *key)
{
	const __u64 *x = (const void *)tally, *y = (const void *)key;
	__u64 other = tally->source ^ key->source;

#pragma clang loop unroll(disable)
	for (unsigned int i = 0; i < sizeof(tally->words) / sizeof(*x); i++)
		other |= x[i] ^ y[i];
	return !(other | (x[6] ^ y[6]) | (x[7] ^ y[7]));
}

/* Begins the count of a key in its place. */
static __always_inline void count_begin(struct wire_tally *tally, const struct wire_key *key)
{
	tally->key = *key;
	tally->count = 1;
}

/*
 * Adds one to the key's count, if it has one. It has one only if user space has its stacks. A place keeps its key when
 * its count has been fetched; until another key takes it, this one need not be begun anew. While a place is free, no
 * key that belongs there has a count from this CPU.
 */
static __always_inline bool count_again(__u32 generation, const struct wire_key *key)
{
	struct wire_tally *tally = settings.tallies ? count_tally(generation, key) : NULL;
	void *map = generation ? &counts_1 : &counts_0;
	__u64 *count;

	if (!WIRE_RARE(!tally || !count_is(tally, key))) {
		tally->count++;
		return true;
	}
	if (tally && !tally->count)
		return false;
	count = bpf_map_lookup_elem(map, key);
	if (count)
		__sync_fetch_and_add(count, 1);
	return count;
}

/*
 * What this CPU counted in the other generation was sent then: it need not be looked for among all that is known. After
 * count_again.
 */
static __always_inline bool count_anew(__u32 generation, const struct wire_key *key)
{
	struct wire_tally *tally = settings.tallies ? count_tally(generation, key) : NULL;
	struct wire_tally *other = settings.tallies ? count_tally(!generation, key) : NULL;

	if (!tally || tally->count || !other || !count_is(other, key))
		return false;
	count_begin(tally, key);
	return true;
}

/* Begins the key's count. 0, or the counter of what went wrong. */
static __always_inline int count_key(__u32 generation, const struct wire_key *key, struct wire_counters *c)
{
	struct wire_tally *tally = settings.tallies ? count_tally(generation, key) : NULL;
	void *map = generation ? &counts_1 : &counts_0;
	__u64 one = 1;
	int err;

	if (tally && !tally->count) {
		count_begin(tally, key);
		return 0;
	}
	err = bpf_map_update_elem(map, key, &one, BPF_NOEXIST);
	if (!err) {
		c->value[WIRE_note_keys]++;
		return 0;
	}
	if (err != -EEXIST)
		return err == -E2BIG ? WIRE_lost_counts : WIRE_lost_error;
	return count_again(generation, key) ? 0 : WIRE_lost_error; /* another CPU was first */
}

static __always_inline void count_event(const struct wire_key *key, __u64 now, struct wire_counters *c)
{
	struct wire_event event = {
		.when = (__u64)bpf_get_smp_processor_id() << 48 | WIRE_EVENT_US(now / 1000),
		.key = wire_hash_key(settings.seed, key),
	};

	if (bpf_ringbuf_output(&events, &event, sizeof(event), count_wakeup(&events)))
		c->value[WIRE_note_events_lost]++;
}

#endif
