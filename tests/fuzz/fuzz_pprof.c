/* SPDX-License-Identifier: Apache-2.0 */
/* Reads any bytes as pprof's protocol buffer. */
#include "fuzz/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	return check_reader(data, len, in_pprof, NULL);
}
