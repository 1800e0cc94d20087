/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as /proc/stat. A line that is found must be one that a machine could write, and be found again. */
#include "proc/cputimes.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"

#define MOST ((uint64_t)1 << 48)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static uint64_t part(uint64_t *rest)
{
	uint64_t most = *rest < MOST ? *rest : MOST;

	*rest -= most;
	return most;
}

static void check_again(const struct cputimes *line)
{
	autobuf struct buf text = { 0 };
	uint64_t user = line->user, kernel = line->kernel, idle = line->idle;
	uint64_t fields[] = { part(&user), part(&user),   part(&kernel), part(&idle),
			      part(&idle), part(&kernel), part(&kernel) };
	struct cputimes again;
	size_t at = 0;

	must(!user && !kernel && !idle);
	buf_adds(&text, "cpu");
	if (line->cpu != CPUTIMES_ALL)
		buf_addf(&text, "%" PRIu32, line->cpu);
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		buf_addf(&text, " %" PRIu64, fields[i]);
	must(!buf_error(&text) && cputimes_next(text.data, text.len, &at, &again));
	must(again.cpu == line->cpu && again.user == line->user);
	must(again.kernel == line->kernel && again.idle == line->idle);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cputimes line;
	size_t at = 0, before = 0;

	while (cputimes_next((const char *)data, size, &at, &line)) {
		must(at > before && at <= size + 1);
		check_again(&line);
		before = at;
	}
	return 0;
}
