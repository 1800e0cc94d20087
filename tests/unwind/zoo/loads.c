/* SPDX-License-Identifier: Apache-2.0 */
/* Code in a library that is loaded while the program runs. */
#include <dlfcn.h>
#include <limits.h>

#include "zoo.h"

static unsigned long (*loaded)(unsigned long n);

ZOO static unsigned long calls(unsigned long n)
{
	return loaded(n) + n;
}

ZOO_LAST(inner, calls)
ZOO_LEVEL(outer, inner)

int main(int argc, char **argv)
{
	char path[PATH_MAX];
	void *library;

	snprintf(path, sizeof(path), "%.*s/libloaded.so", (int)(strrchr(argv[0], '/') - argv[0]), argv[0]);
	library = dlopen(argc > 1 ? argv[1] : path, RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&loaded = dlsym(library, "loaded_entry");
	return (int)outer(1, 2, 3, 4, 5, 6) + argc;
}
