/* SPDX-License-Identifier: Apache-2.0 */
/* The first of the two libraries of dllib.h. */
#define SPIN spin_a
#include "dllib.h"
