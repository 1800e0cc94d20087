/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads one library, spins in it, unloads it, loads another at the same address, spins in that one, and so on. The
 * two libraries (dllib.c) have their functions at different offsets; a frame named after the wrong one is seen.
 *
 *   dl LIBRARY LIBRARY TURNS
 *
 * Prints "same N of M": how often the address was the same as before.
 */
#include "prog.h"
#include <dlfcn.h>
#include <link.h>

static NOINLINE uintptr_t turn(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void (*enter)(void);
	struct link_map *map;
	uintptr_t base;

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(125);
	}
	*(void **)&enter = dlsym(library, "library_enter");
	if (!enter || dlinfo(library, RTLD_DI_LINKMAP, &map))
		exit(125);
	base = map->l_addr;
	enter();
	dlclose(library);
	return base;
}

int main(int argc, char **argv)
{
	unsigned int turns, same = 0;
	uintptr_t before = 0;

	if (argc != 4)
		return 2;
	prog_begin();
	turns = (unsigned int)atoi(argv[3]);
	for (unsigned int i = 0; i < turns; i++) {
		uintptr_t base = turn(argv[1 + i % 2]);

		same += i > 0 && base == before;
		before = base;
	}
	printf("same %u of %u\n", same, turns - 1);
	return 0;
}
