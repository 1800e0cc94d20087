/* SPDX-License-Identifier: Apache-2.0 */
/* From call frame information to the few kinds of rules that the unwinder knows. */
#ifndef WICK_UNWIND_RULES_H
#define WICK_UNWIND_RULES_H

struct cfi_state;
struct wire_rule;

/* The rule of a row; state NULL: none is known. */
void rule_of(const struct cfi_state *state, struct wire_rule *ret);

#endif
