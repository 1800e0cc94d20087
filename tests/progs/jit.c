/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spins in code that it wrote itself, in memory without a file; called by main, then call, with a frame of its own.
 * Prints "code ADDRESS LENGTH" and runs until killed.
 */
#include "prog.h"
#include <string.h>
#include <sys/mman.h>

#if defined(__x86_64__)
static const unsigned char code[] = {
	0x55,             /* push %rbp */
	0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
	0x48, 0xff, 0xcf, /* dec %rdi */
	0x75, 0xfb,       /* jnz to the dec */
	0x5d,             /* pop %rbp */
	0xc3,             /* ret */
};
#elif defined(__aarch64__)
static const uint32_t code[] = {
	0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
	0x910003fd, /* mov x29, sp */
	0xf1000400, /* subs x0, x0, #1 */
	0x54ffffe1, /* b.ne to the subs */
	0xa8c17bfd, /* ldp x29, x30, [sp], #16 */
	0xd65f03c0, /* ret */
};
#else
#error "no code for this machine"
#endif

static NOINLINE void call(void (*made)(unsigned long))
{
	made(1000UL * PROG_UNIT);
	PROG_STAYS();
}

int main(void)
{
	void (*made)(unsigned long);
	char *at;

	prog_begin();
	at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		prog_die("mmap");
	memcpy(at, code, sizeof(code));
	__builtin___clear_cache(at, at + sizeof(code));
	if (mprotect(at, 4096, PROT_READ | PROT_EXEC))
		prog_die("mprotect");
	*(void **)&made = at;
	printf("code %#lx %zu\n", (unsigned long)at, sizeof(code));
	for (;;)
		call(made);
}
