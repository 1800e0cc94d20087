/* SPDX-License-Identifier: Apache-2.0 */
/* What a server answers a command: whatever the bytes, the body is a part of them, or they are refused. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "cmd/ask.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	autobuf struct buf answer = { 0 };
	unsigned status = 0;

	buf_add(&answer, data, len);
	if (!ask_parse("s", &answer, &status) && (answer.len > len || status < 100 || status > 999))
		abort();
	return 0;
}
