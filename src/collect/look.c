/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the kernel side's program on the process that calls. Each asker has a place of its own for the answer, so that
 * helpers and the main process can ask at the same time.
 */
#include "collect/look.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdint.h>

int look_run(int program, int answers, const struct wire_query *query, struct wire_look *ret)
{
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = query, .ctx_size_in = sizeof(*query));
	uint32_t asker = (uint32_t)query->asker;

	if (bpf_prog_test_run_opts(program, &run))
		return -errno;
	return bpf_map_lookup_elem(answers, &asker, ret) ? -errno : 0;
}
