/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of a few bytes that have no CFI, each right behind one that has: what is true of that one is not true of
 * them. They run without end when they are called with 0. rbp is used for something else.
 */
	.text

.macro described name
	.globl \name
	.type \name, @function
	.p2align 4
\name:
	.cfi_startproc
.endm

.macro done name
	.cfi_endproc
	.size \name, . - \name
.endm

.macro hidden name
	.globl \name
	.type \name, @function
\name:
.endm

	/* Says of itself that nobody has called it. */
	described outermost
	.cfi_undefined %rip
	nop
	ret
	done outermost

	/* Pushes a word: the return address is below it. */
	hidden hidden_root
	push %rbx
1:	dec %rdi
	jnz 1b
	pop %rbx
	ret
	.size hidden_root, . - hidden_root

	/* Ends with a frame, at a call that does not return. */
	described never_returns
	sub $8, %rsp
	.cfi_adjust_cfa_offset 8
	call abort@plt
	done never_returns

	/* A zero where that one has its return address. */
	hidden hidden_zero
	push $0
	push $0
1:	dec %rdi
	jnz 1b
	pop %rdx
	pop %rdx
	ret
	.size hidden_zero, . - hidden_zero

	described between
	sub $24, %rsp
	.cfi_adjust_cfa_offset 24
	call abort@plt
	done between

	/* Leaves the stack alone: the return address is on top of it. */
	hidden hidden_leaf
1:	dec %rdi
	jnz 1b
	ret
	.size hidden_leaf, . - hidden_leaf

	described behind
	ret
	done behind

	.section .note.GNU-stack, "", @progbits
