/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256, as FIPS 180-4 has it: for names of contents, such as those in a Content-Security-Policy. */
#ifndef WICK_BASE_SHA256_H
#define WICK_BASE_SHA256_H

#include <stddef.h>

#define SHA256_LEN 32

void sha256(const void *data, size_t len, unsigned char ret[SHA256_LEN]);

#endif
