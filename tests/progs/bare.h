/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program without a C library: it starts with a frame pointer of zero, so that its chain of frame pointers is whole
 * from the first instruction to the leaf. Define `enter(long *stack)`, where stack[0] is argc and argv follows.
 */
#ifndef WICK_TESTS_BARE_H
#define WICK_TESTS_BARE_H

#define BARE_LIFE_SECONDS 300

#if defined(__x86_64__)
#define BARE_SETITIMER 38
__asm__(".globl _start\n.type _start, @function\n_start:\n\txor %ebp, %ebp\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n"
	"\tcall enter\n\thlt\n.size _start, . - _start\n");

static inline long bare_syscall3(long number, long a, long b, long c)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return ret;
}
#elif defined(__i386__)
#define BARE_SETITIMER 104
__asm__(".globl _start\n.type _start, @function\n_start:\n\txor %ebp, %ebp\n\tmov %esp, %eax\n\tand $-16, %esp\n"
	"\tsub $12, %esp\n\tpush %eax\n\tcall enter\n\thlt\n.size _start, . - _start\n");

static inline long bare_syscall3(long number, long a, long b, long c)
{
	long ret;

	__asm__ volatile("int $0x80" : "=a"(ret) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory");
	return ret;
}
#elif defined(__aarch64__)
#define BARE_SETITIMER 103
__asm__(".globl _start\n.type _start, @function\n_start:\n\tmov x29, #0\n\tmov x30, #0\n\tmov x0, sp\n"
	"\tbl enter\n\tbrk #0\n.size _start, . - _start\n");

static inline long bare_syscall3(long number, long a, long b, long c)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;

	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	return x0;
}
#else
#error "no start code for this machine"
#endif

__attribute__((noreturn)) void enter(long *stack);

/* The timer's signal ends the program if nobody else does. */
static inline void bare_begin(void)
{
	long life[4] = { 0, 0, BARE_LIFE_SECONDS, 0 };

	bare_syscall3(BARE_SETITIMER, 0, (long)life, 0);
}

#endif
