/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the functions of libmicrohttpd by their names. A static wick cannot load a library, and says so. */
#include "http/mhd.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#include "base/fail.h"

#define LIBRARY "libmicrohttpd.so.12"

#ifdef WICK_STATIC
int mhd_load(struct mhd *ret)
{
	(void)ret;
	return fail_plain(-ENOTSUP,
			  "serving: this wick is linked statically and has no HTTP server: use the other one");
}
#else
int mhd_load(struct mhd *ret)
{
	static const struct {
		const char *name;
		size_t offset;
	} functions[] = {
#define MHD_NAME(name) { "MHD_" #name, offsetof(struct mhd, name) },
		MHD_FUNCTIONS(MHD_NAME)
#undef MHD_NAME
	};
	void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

	if (!handle)
		return fail_plain(-ENOTSUP, "serving: " LIBRARY " is not there: install libmicrohttpd12");
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		void *function = dlsym(handle, functions[i].name);

		if (!function)
			return fail_plain(-ENOTSUP, "serving: " LIBRARY " has no %s: another version is needed",
					  functions[i].name);
		*(void **)((char *)ret + functions[i].offset) = function;
	}
	return 0;
}
#endif
