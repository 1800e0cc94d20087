/* SPDX-License-Identifier: Apache-2.0 */
/* shares.c with its functions at other offsets. */
#define PAD
#include "shares.c"
