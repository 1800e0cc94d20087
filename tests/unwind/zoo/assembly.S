/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions whose frames are found in unusual ways. Each calls assembly_next, or runs without end itself, and says in
 * its CFI what is true of it at every instruction. rbp is always used for something else.
 */
	.text

.macro function name
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

.macro call_next
	mov assembly_next(%rip), %rax
	call *%rax
.endm

	/* CFA by rbx: the stack pointer is somewhere below, realigned. */
	function by_rbx
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	mov %rsp, %rbx
	.cfi_def_cfa_register %rbx
	push %rbp
	.cfi_rel_offset %rbp, -8
	sub $200, %rsp
	and $-64, %rsp
	mov $1, %ebp
	call_next
	mov -8(%rbx), %rbp
	mov %rbx, %rsp
	.cfi_def_cfa_register %rsp
	pop %rbx
	.cfi_adjust_cfa_offset -8
	ret
	done by_rbx

	function by_r12
	push %r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r12, 0
	lea 16(%rsp), %r12
	.cfi_def_cfa %r12, 0
	sub $408, %rsp
	and $-128, %rsp
	call_next
	lea -16(%r12), %rsp
	.cfi_def_cfa %rsp, 16
	pop %r12
	.cfi_adjust_cfa_offset -8
	ret
	done by_r12

	/* The stack pointer of the caller is in memory: def_cfa_expression breg7 24, deref */
	function by_deref
	lea 8(%rsp), %rax
	sub $136, %rsp
	.cfi_adjust_cfa_offset 136
	and $-64, %rsp
	.cfi_def_cfa %rax, 0
	mov %rax, 24(%rsp)
	.cfi_escape 0x0f, 0x03, 0x77, 0x18, 0x06
	call_next
	mov 24(%rsp), %rdx
	.cfi_def_cfa %rdx, 0
	lea -8(%rdx), %rsp
	.cfi_def_cfa %rsp, 8
	ret
	done by_deref

	/* As libcrypto does it: breg7 88 (two bytes), deref, plus_uconst 8 */
	function by_deref_plus
	mov %rsp, %rax
	.cfi_def_cfa_register %rax
	push %rbp
	.cfi_offset %rbp, -16
	push %r15
	.cfi_offset %r15, -24
	sub $160, %rsp
	and $-32, %rsp
	mov %rax, 88(%rsp)
	.cfi_escape 0x0f, 0x06, 0x77, 0xd8, 0x00, 0x06, 0x23, 0x08
	mov $1, %ebp
	mov $2, %r15d
	call_next
	mov 88(%rsp), %rsi
	.cfi_def_cfa %rsi, 8
	mov -16(%rsi), %r15
	.cfi_restore %r15
	mov -8(%rsi), %rbp
	.cfi_restore %rbp
	mov %rsi, %rsp
	.cfi_def_cfa_register %rsp
	ret
	done by_deref_plus

	/* A sum of constants: breg7 16, plus_uconst 16 */
	function by_plus
	sub $24, %rsp
	.cfi_escape 0x0f, 0x04, 0x77, 0x10, 0x23, 0x10
	call_next
	add $24, %rsp
	.cfi_def_cfa %rsp, 8
	ret
	done by_plus

	/* The return address is in a register, and no longer on the stack. */
	function by_r13_ra
	push %r13
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r13, 0
	mov 8(%rsp), %r13
	.cfi_register %rip, %r13
	movq $1, 8(%rsp)
	sub $16, %rsp
	.cfi_adjust_cfa_offset 16
	call_next
	add $16, %rsp
	.cfi_adjust_cfa_offset -16
	mov %r13, 8(%rsp)
	.cfi_offset %rip, -8
	pop %r13
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r13
	ret
	done by_r13_ra

	/* rbp is in another register: the frame of the caller is found by it. */
	function by_kept_rbp
	push %r14
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r14, 0
	mov %rbp, %r14
	.cfi_register %rbp, %r14
	mov $1, %ebp
	sub $16, %rsp
	.cfi_adjust_cfa_offset 16
	call_next
	add $16, %rsp
	.cfi_adjust_cfa_offset -16
	mov %r14, %rbp
	.cfi_restore %rbp
	pop %r14
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r14
	ret
	done by_kept_rbp

	/* Goes on on a stack of its own. */
	function by_other_stack
	push %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	mov %rsp, %rbp
	.cfi_def_cfa_register %rbp
	lea other_stack_end(%rip), %rsp
	call_next
	mov %rbp, %rsp
	.cfi_def_cfa_register %rsp
	pop %rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	ret
	done by_other_stack

	/* As vfork: the return address is taken off the stack, whose pointer is then the caller's. Runs without end. */
	function by_leaf_rdi
	pop %rdi
	.cfi_adjust_cfa_offset -8
	.cfi_register %rip, %rdi
1:
	add $1, %rax
	xor %rdx, %rax
	jmp 1b
	push %rdi
	.cfi_adjust_cfa_offset 8
	ret
	done by_leaf_rdi

	/* Every kind of row in one loop without end: pushes, remembered and recalled states, an epilogue in the middle. */
	function by_states
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	xor %ebx, %ebx
1:
	push %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	mov $1, %ebp
	.cfi_remember_state
	sub $1000, %rsp
	.cfi_adjust_cfa_offset 1000
	add $1, %rbx
	call 3f
	add $1000, %rsp
	.cfi_restore_state
	.cfi_remember_state
	test $1, %rbx
	jnz 2f
	pop %rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	nop
	jmp 1b
2:
	.cfi_restore_state
	add $1, %rbx
	pop %rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	jmp 1b
	done by_states

	.type by_states_leaf, @function
by_states_leaf:
	.cfi_startproc
3:
	push $1
	.cfi_adjust_cfa_offset 8
	pop %rax
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size by_states_leaf, . - by_states_leaf

	.bss
	.p2align 4
	.skip 65536
other_stack_end:

	.section .note.GNU-stack, "", @progbits
