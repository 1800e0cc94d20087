/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* What profilers of the first generation do at a tick: the kernel's own walk along frame pointers, and a count. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 16384);
	__uint(key_size, 4);
	__uint(value_size, 127 * 8);
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, __u64);
} counts SEC(".maps");

SEC("perf_event")
int tick(void *ctx)
{
	__u64 one = 1, *count, key = (__u32)bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK);

	count = bpf_map_lookup_elem(&counts, &key);
	if (count)
		__sync_fetch_and_add(count, 1);
	else
		bpf_map_update_elem(&counts, &key, &one, BPF_NOEXIST);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
