/* SPDX-License-Identifier: Apache-2.0 */
/* Reads any bytes as what bpftrace prints, as text and as JSON. */
#include "fuzz/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	return check_reader(data, len, NULL, in_bpftrace);
}
