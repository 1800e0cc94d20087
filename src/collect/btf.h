/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's types, cut down to those that a BPF object names. libbpf fits an object to the running kernel by the
 * kernel's own description of its types, and indexes all of it, some hundred thousand types, to find a few dozen.
 */
#ifndef WICK_COLLECT_BTF_H
#define WICK_COLLECT_BTF_H

#include <stddef.h>

struct btf;
struct buf;

/*
 * Appends to `ret` what is left of the kernel's types (`kernel`, raw BTF): those that have the name of a type in
 * `local`, and what they hold by value. Pointers lead to void. That is all that CO-RE looks at, except for
 * bpf_core_type_matches, which this is not for. -EBADMSG if the bytes are not BTF as it is known here.
 */
int btf_pick(const struct btf *local, const void *kernel, size_t len, struct buf *ret);

/* The same for the running kernel; written to `fd`. */
int btf_pick_running(const struct btf *local, int fd);

#endif
