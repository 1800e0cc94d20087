/* SPDX-License-Identifier: Apache-2.0 */
/* From call frame information to the few kinds of rules that the unwinder knows. */
#ifndef WICK_UNWIND_RULES_H
#define WICK_UNWIND_RULES_H

#include <stdbool.h>

struct cfi_state;
struct wire_rule;

/* The rule of a row; state NULL: none is known. `saves`: keep where all callee-saved registers are, not only rbp. */
void rule_of(const struct cfi_state *state, bool saves, struct wire_rule *ret);

/* Whether a rule needs a register of the caller beyond rsp and rbp. */
bool rule_needs_saves(const struct wire_rule *rule);

#endif
