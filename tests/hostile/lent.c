/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs in a library: lent NAME LIBRARY, called NAME. With a third argument, a debug file, it first makes name spaces of
 * its own in which that file is where debug files of the library are looked for: lent NAME LIBRARY FILE BUILD-ID.
 * Says `ready` and runs until killed.
 */
#include <dlfcn.h>
#include <sys/stat.h>

#include "hostile/hostile.h"

static void copy(const char *from, const char *to)
{
	char bytes[4096];
	int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	ssize_t len;

	if (in < 0 || out < 0)
		die(to);
	while ((len = read(in, bytes, sizeof(bytes))) > 0)
		if (write(out, bytes, (size_t)len) != len)
			die(to);
	close(in);
	close(out);
}

/* A tmpfs over /usr/lib, or what it has of debug files, with .build-id/xx/rest.debug in it. */
static void lend(const char *file, const char *id)
{
	char path[PATH_MAX];

	enter_name_spaces();
	if (mount("tmpfs", "/usr/lib/debug", "tmpfs", 0, NULL))
		die("/usr/lib/debug");
	mkdir("/usr/lib/debug/.build-id", 0755);
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s", id);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
	copy(file, path);
}

int main(int argc, char **argv)
{
	void (*enter)(void);
	void *library;

	if (argc != 3 && argc != 5)
		return 2;
	prog_begin();
	if (argc == 5)
		lend(argv[3], argv[4]);
	prctl(PR_SET_NAME, argv[1]);
	library = dlopen(argv[2], RTLD_NOW);
	*(void **)&enter = library ? dlsym(library, "hidden_enter") : NULL;
	if (!enter) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	say_ready();
	enter();
	return 0;
}
