/* SPDX-License-Identifier: Apache-2.0 */
/* From call frame information to the few kinds of rules that the unwinder knows. */
#ifndef WICK_UNWIND_RULES_H
#define WICK_UNWIND_RULES_H

#include <stdbool.h>

struct cfi_state;
struct wire_rule;

/* The rule of a row; state NULL: none is known. */
void rule_of(const struct cfi_state *state, struct wire_rule *ret);

/*
 * The same for a row whose registers are those of the row that the rule was made of: only the CFA's offset is put into
 * it. False, and the rule is as it was, if that is not all.
 */
bool rule_again(const struct cfi_state *state, struct wire_rule *rule);

#endif
