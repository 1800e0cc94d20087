/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an hour adds up to, in few bytes: its body (window.h), which holds about a third of all that a store keeps. Who
 * ran the same program met the same stacks, so what follows a stack is told by what followed it before.
 */
#ifndef WICK_STORE_SUM_H
#define WICK_STORE_SUM_H

#include <stddef.h>

struct buf;
struct window;

/* Of one that is arranged. 0 or -ENOMEM. */
int sum_body(struct window *window, struct buf *ret);
/* The head was read. -EBADMSG if it is not what was written. */
int sum_read_body(struct window *window, const void *data, size_t len);

#endif
