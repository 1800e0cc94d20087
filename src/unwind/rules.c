/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns a row of call frame information into a rule. Nearly all rows are "register plus offset"; beside those there are
 * a handful of expressions in the wild, recognised by their shape: the stubs of the PLT, frames whose address is kept
 * in memory (realigned stacks, libcrypto's assembly), and the restorer of signals. What is none of these is ODD: the
 * stack is cut there and says so.
 */
#include "unwind/rules.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "bpf/wire.h"
#include "elf/cfi.h"
#include "elf/pointer.h"

enum { /* DWARF's operations, as far as they occur */
       OP_DEREF = 0x06,
       OP_AND = 0x1a,
       OP_PLUS = 0x22,
       OP_PLUS_UCONST = 0x23,
       OP_SHL = 0x24,
       OP_GE = 0x2a,
       OP_LIT0 = 0x30,
       OP_LIT31 = 0x4f,
       OP_BREG0 = 0x70,
       OP_BREG31 = 0x8f,
};

static const uint8_t saved_registers[WIRE_SAVES] = { CFI_FP, 3, 12, 13, 14, 15 };

#define SIGNAL_SP_AT 160 /* where rsp is kept, from the stack pointer of the restorer */

/* register + offset, with one constant more if it is there. */
static bool is_register_plus(struct cursor *in, uint64_t *ret_register, int64_t *ret_offset)
{
	unsigned int op = cursor_u8(in);

	if (op < OP_BREG0 || op > OP_BREG31)
		return false;
	*ret_register = op - OP_BREG0;
	*ret_offset = (int64_t)cursor_sleb(in);
	return !in->bad;
}

/* breg7 8; breg16 0; lit15; and; litN; ge; lit3; shl; plus */
static bool is_plt(const unsigned char *expression, size_t len, int16_t *ret_from)
{
	static const unsigned char head[] = { OP_BREG0 + CFI_SP, 8, OP_BREG0 + CFI_RA, 0, OP_LIT0 + 15, OP_AND };
	static const unsigned char tail[] = { OP_GE, OP_LIT0 + 3, OP_SHL, OP_PLUS };
	const size_t at = sizeof(head);

	if (len != sizeof(head) + 1 + sizeof(tail) || memcmp(expression, head, sizeof(head)) ||
	    memcmp(expression + at + 1, tail, sizeof(tail)) || expression[at] < OP_LIT0 || expression[at] > OP_LIT31)
		return false;
	*ret_from = (int16_t)(expression[at] - OP_LIT0);
	return true;
}

static bool cfa_by_expression(const struct cfi_state *state, struct wire_rule *ret)
{
	struct cursor in = cursor_of(state->cfa_expression, state->cfa_len);
	uint64_t number;
	int64_t offset, more = 0;

	if (is_plt(state->cfa_expression, state->cfa_len, &ret->offset2)) {
		ret->kind = WIRE_RULE_PLT;
		return true;
	}
	if (!is_register_plus(&in, &number, &offset) || number >= CFI_RA)
		return false;
	ret->kind = WIRE_RULE_REGISTER;
	if (cursor_left(&in) && *in.at == OP_DEREF) {
		cursor_u8(&in);
		ret->kind = WIRE_RULE_DEREF;
	}
	if (cursor_left(&in) && *in.at == OP_PLUS_UCONST) {
		cursor_u8(&in);
		more = (int64_t)cursor_varint(&in);
	}
	if (in.bad || cursor_left(&in) || offset < INT_MIN / 2 || offset > INT_MAX / 2 || more < 0 || more > SHRT_MAX)
		return false;
	ret->reg = (uint8_t)number;
	ret->offset = (int32_t)(ret->kind == WIRE_RULE_DEREF ? offset : offset + more);
	ret->offset2 = ret->kind == WIRE_RULE_DEREF ? (int16_t)more : 0;
	return true;
}

static bool cfa_of(const struct cfi_state *state, struct wire_rule *ret)
{
	if (state->cfa_expression)
		return cfa_by_expression(state, ret);
	if (state->cfa_register >= CFI_RA || state->cfa_offset < INT_MIN || state->cfa_offset > INT_MAX)
		return false;
	ret->kind = WIRE_RULE_REGISTER;
	ret->reg = (uint8_t)state->cfa_register;
	ret->offset = (int32_t)state->cfa_offset;
	return true;
}

/* Where a register is kept: from the CFA, or from the frame pointer. False if it is anywhere else. */
static bool save_of(const struct cfi_rule *rule, unsigned int slot, struct wire_rule *ret)
{
	struct cursor in;
	uint64_t number;
	int64_t offset = rule->value;

	if (rule->how == CFI_UNSET || rule->how == CFI_SAME || rule->how == CFI_UNDEFINED)
		return true;
	if (rule->how == CFI_REGISTER && slot == WIRE_SAVE_FP && offset >= 0 && offset < CFI_RA) {
		ret->flags |= WIRE_FP_IN_REGISTER;
	} else if (rule->how == CFI_EXPRESSION) {
		in = cursor_of(rule->expression, rule->len);
		if (!is_register_plus(&in, &number, &offset) || cursor_left(&in) || number != CFI_FP)
			return false;
		ret->from_fp |= (uint8_t)(1 << slot);
	} else if (rule->how != CFI_AT_CFA) {
		return false;
	}
	if (offset <= WIRE_NOT_SAVED || offset > SHRT_MAX)
		return false;
	ret->saves[slot] = (int16_t)offset;
	return true;
}

static bool ra_of(const struct cfi_rule *rule, struct wire_rule *ret)
{
	switch (rule->how) {
	case CFI_AT_CFA:
		ret->ra_offset = (int16_t)rule->value;
		return rule->value == ret->ra_offset;
	case CFI_REGISTER:
		ret->flags |= WIRE_RA_IN_REGISTER;
		ret->ra_offset = (int16_t)rule->value;
		return rule->value >= 0 && rule->value < CFI_RA;
	default:
		return false;
	}
}

/* Every rule makes the CFA the caller's stack pointer; a function that says something else is not understood. */
static bool sp_is_cfa(const struct cfi_rule *rule)
{
	return rule->how == CFI_UNSET || rule->how == CFI_SAME || rule->how == CFI_UNDEFINED ||
	       (rule->how == CFI_IS_CFA && !rule->value);
}

static bool is_signal(const struct cfi_state *state)
{
	struct cursor in;
	uint64_t number;
	int64_t offset;

	if (!state->signal || !state->cfa_expression)
		return false;
	in = cursor_of(state->cfa_expression, state->cfa_len);
	return is_register_plus(&in, &number, &offset) && number == CFI_SP && offset == SIGNAL_SP_AT;
}

void rule_of(const struct cfi_state *state, struct wire_rule *ret)
{
	static const struct wire_rule none = { .saves = { [0 ... WIRE_SAVES - 1] = WIRE_NOT_SAVED } };

	*ret = none;
	if (!state)
		return;
	if (state->rules[CFI_RA].how == CFI_UNDEFINED) {
		ret->kind = WIRE_RULE_ROOT;
		return;
	}
	if (is_signal(state)) {
		ret->kind = WIRE_RULE_SIGNAL;
		return;
	}
	if (!cfa_of(state, ret) || !ra_of(&state->rules[CFI_RA], ret) || !sp_is_cfa(&state->rules[CFI_SP])) {
		ret->kind = WIRE_RULE_ODD;
		return;
	}
	for (unsigned int i = 0; i < WIRE_SAVES; i++) {
		const struct cfi_rule *rule = &state->rules[saved_registers[i]];

		if (rule->how == CFI_UNSET)
			continue;
		if (!save_of(rule, i, ret) && i == WIRE_SAVE_FP)
			ret->kind = WIRE_RULE_ODD; /* of the others it is enough not to know them */
		else if (i && ret->saves[i] != WIRE_NOT_SAVED)
			ret->flags |= WIRE_RULE_SAVES;
	}
}

bool rule_again(const struct cfi_state *state, struct wire_rule *rule)
{
	if (rule->kind != WIRE_RULE_REGISTER || state->cfa_expression || state->cfa_register != rule->reg ||
	    state->cfa_offset < INT_MIN || state->cfa_offset > INT_MAX)
		return false;
	rule->offset = (int32_t)state->cfa_offset;
	return true;
}
