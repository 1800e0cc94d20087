/* SPDX-License-Identifier: Apache-2.0 */
/* The first of the two programs of execer.h. */
#define SPIN spin_alpha
#include "execer.h"
