/* SPDX-License-Identifier: Apache-2.0 */
/* The vDSO: code that the kernel maps into every process. It is in no file; this process has the same one mapped. */
#ifndef WICK_SYM_VDSO_H
#define WICK_SYM_VDSO_H

/* A file in memory with a copy of it, to be read as any other ELF file. -ENODATA if the kernel has none. */
int vdso_copy(int *ret_fd);

#endif
