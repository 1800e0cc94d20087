/* SPDX-License-Identifier: Apache-2.0 */
/* The second of the two programs of execer.h. */
#define SPIN spin_beta
#define SECOND
#include "execer.h"
