/* SPDX-License-Identifier: Apache-2.0 */
/* Demangling any bytes. It must come to an end, within bounds, and say nothing of what was in the buffer before. */
#include "sym/demangle.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

#define OUTPUT_MAX 16384

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	autobuf struct buf name = { 0 };

	buf_add(&name, data, size);
	for (int mode = DEMANGLE_SHORT; mode <= DEMANGLE_NO; mode++) {
		autobuf struct buf out = { 0 };

		buf_adds(&out, "kept");
		demangle(&out, name.data, (enum symbols_demangle)mode);
		require(!buf_error(&out));
		require(!memcmp(out.data, "kept", 4) && out.len - 4 <= OUTPUT_MAX);
		require((out.len > 4) == (name.data[0] != '\0'));
		if (mode == DEMANGLE_NO && strlen(name.data) <= OUTPUT_MAX)
			require(!strcmp(out.data + 4, name.data));
	}
	return 0;
}
