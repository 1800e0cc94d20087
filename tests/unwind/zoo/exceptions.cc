/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C++ with exceptions: the leaf runs in a handler (catch), in a destructor while the stack is being unwound
 * (destructor), in what is called when nobody catches (terminate), and in the middle of libgcc's own unwinder
 * (backtrace).
 */
#include <exception>
#include <unwind.h>

#include "zoo.h"

static const char *mode;

struct guard {
	unsigned long n;
	ZOO ~guard()
	{
		if (!strcmp(mode, "destructor"))
			n = zoo_spin(n) + 1;
	}
};

ZOO static void terminated()
{
	zoo_spin(1);
	_exit(1);
}

ZOO static _Unwind_Reason_Code traced(struct _Unwind_Context *context, void *n)
{
	*static_cast<unsigned long *>(n) += zoo_spin(_Unwind_GetIP(context));
	return _URC_NO_REASON;
}

ZOO static unsigned long throws(unsigned long n)
{
	if (!strcmp(mode, "backtrace"))
		_Unwind_Backtrace(traced, &n);
	throw n;
}

ZOO static unsigned long guarded(unsigned long n)
{
	guard one = { n };

	return throws(n) + one.n;
}

ZOO static unsigned long catches(unsigned long n)
{
	try {
		return guarded(n + 1) * 2;
	} catch (unsigned long thrown) {
		return zoo_spin(thrown) + n;
	}
}

ZOO static unsigned long uncaught(unsigned long n) noexcept
{
	std::set_terminate(terminated);
	return guarded(n + 1) * 2;
}

ZOO static unsigned long choose(unsigned long n)
{
	unsigned long x = strcmp(mode, "terminate") ? catches(n) : uncaught(n);

	return x ^ n;
}

ZOO_LAST(inner, choose)
ZOO_LEVEL(outer, inner)

int main(int argc, char **argv)
{
	mode = argc > 1 ? argv[1] : "catch";
	return static_cast<int>(outer(1, 2, 3, 4, 5, 6)) + argc;
}
