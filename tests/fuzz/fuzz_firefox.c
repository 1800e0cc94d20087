/* SPDX-License-Identifier: Apache-2.0 */
/* Reads any bytes as a profile of the Firefox Profiler, of the browser's or of its own format. */
#include "fuzz/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	return check_reader(data, len, in_firefox, NULL);
}
