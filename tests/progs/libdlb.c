/* SPDX-License-Identifier: Apache-2.0 */
/* The second of the two libraries of dllib.h. */
#define SPIN spin_b
#define SECOND
#include "dllib.h"
