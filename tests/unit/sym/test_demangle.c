/* SPDX-License-Identifier: Apache-2.0 */
/* If this breaks: people read _ZN and 17h…E instead of names, or one function's samples are spread over its parts. */
#include "sym/demangle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"

struct pair {
	const char *from, *to;
};

static void check(const struct pair *pairs, size_t count, enum symbols_demangle mode)
{
	for (size_t i = 0; i < count; i++) {
		autobuf struct buf out = { 0 };

		buf_adds(&out, "before ");
		demangle(&out, pairs[i].from, mode);
		assert_int_equal(buf_error(&out), 0);
		assert_int_equal(out.len, strlen(out.data));
		assert_string_equal(out.data + strlen("before "), pairs[i].to);
	}
}

#define check_all(pairs, mode) check(pairs, sizeof(pairs) / sizeof(*(pairs)), mode)

static void test_cplus(void **state)
{
	static const struct pair pairs[] = {
		{ "_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back" },
		{ "_ZNKSt8functionIFviEEclEi", "std::function<void (int)>::operator()" },
		{ "_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()" },
		{ "_ZN1AC1Ei", "A::A" },
		{ "_ZN1AD0Ev", "A::~A" },
		{ "_ZlsRSoRK1A", "operator<<" },
		{ "_ZN1AcvbEv", "A::operator bool" },
		{ "_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f" },
		{ "_ZN3fooILi3EE3barIcEEvT_", "foo<3>::bar<char>" },
		{ "_ZThn16_N1A1bEi", "non-virtual thunk to A::b" },
		{ "_ZTv0_n24_N1A1bEi", "virtual thunk to A::b" },
		{ "_ZTch0_h16_N1A1cEi", "covariant return thunk to A::c" },
	};

	(void)state;
	check_all(pairs, DEMANGLE_SHORT);
}

static void test_cplus_full(void **state)
{
	static const struct pair pairs[] = {
		{ "_ZNSt6vectorIiSaIiEE9push_backERKi",
		  "std::vector<int, std::allocator<int> >::push_back(int const&)" },
		{ "_ZN3fooILi3EE3barIcEEvT_", "void foo<3>::bar<char>(char)" },
		{ "_ZNK1A1bEi.part.0", "A::b(int) const" },
		{ "_ZThn16_N1A1bEi", "non-virtual thunk to A::b(int)" },
		{ "_ZN4test4main17h05af221e174051e9E", "test::main::h05af221e174051e9" },
		{ "_D3foo3barFiZv", "foo.bar(int)" },
	};

	(void)state;
	check_all(pairs, DEMANGLE_FULL);
}

static void test_rust(void **state)
{
	static const struct pair pairs[] = {
		{ "_ZN4test4main17h05af221e174051e9E", "test::main" },
		{ "_ZN4core3ptr85drop_in_place$LT$std..rt..lang_start$LT$$LP$$RP$$GT$..$u7b$$u7b$closure$u7d$$u7d$$GT$"
		  "17h05af221e174051e9E",
		  "core::ptr::drop_in_place<std::rt::lang_start<()>::{{closure}}>" },
		{ "_ZN4test4main17h05af221e174051e9E.llvm.123456789", "test::main" },
		{ "_RNvCs15kBYyAo9fc_7mycrate7example", "mycrate::example" },
		{ "_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>" },
		{ "_RNvXCsg8iPXGVvzLr_4testNtB2_4FireNtNtCs4fqI2P2rA04_4core3fmt5Debug3fmt",
		  "<test::Fire as core::fmt::Debug>::fmt" },
		{ "_RNCNvCsg8iPXGVvzLr_4test4main0B3_", "test::main::{closure#0}" },
		{ "_RNvCs15kBYyAo9fc_7mycrate7example.llvm.12", "mycrate::example" },
	};

	(void)state;
	check_all(pairs, DEMANGLE_SHORT);
}

static void test_d(void **state)
{
	static const struct pair pairs[] = {
		{ "_D3foo3barFiZv", "foo.bar" },
		{ "_D4core4math3sinFNaNbNiNfeZe", "core.math.sin" },
		{ "_D3foo3Bar6__ctorMFZC3foo3Bar", "foo.Bar.this" },
		{ "_Dmain", "D main" },
	};

	(void)state;
	check_all(pairs, DEMANGLE_SHORT);
}

static void test_parts_fold_into_their_function(void **state)
{
	static const struct pair pairs[] = {
		{ "f.cold", "f" },
		{ "f.cold.12", "f" },
		{ "f.part.0", "f" },
		{ "f.isra.0.cold", "f" },
		{ "f.constprop.0.isra.1.part.2.cold", "f" },
		{ "f.lto_priv.0", "f" },
		{ "f.llvm.17", "f" },
		{ "f.localalias", "f" },
		{ "_ZN1A1bEv.constprop.0.cold", "A::b" },
		/* Other functions, which look alike */
		{ "nested.0", "nested.0" },
		{ "f.avx2", "f.avx2" },
		{ "_Z1fv.avx2", "f [clone .avx2]" },
		{ ".part.0", ".part.0" },
		{ ".cold", ".cold" },
		{ "f.partly", "f.partly" },
		{ "f.part.x", "f.part.x" },
	};

	(void)state;
	check_all(pairs, DEMANGLE_SHORT);
}

static void test_what_is_not_mangled_stays(void **state)
{
	static const struct pair pairs[] = {
		{ "", "" },
		{ "_", "_" },
		{ "_Z", "_Z" },
		{ "_R", "_R" },
		{ "_D", "_D" },
		{ "main", "main" },
		{ "_start", "_start" },
		{ "_Zfoo", "_Zfoo" },
		{ "_Z3foovqqq", "_Z3foovqqq" },
		{ "_ZN3foo", "_ZN3foo" },
		{ "_ZTh", "_ZTh" },
		{ "_ZThn16_", "_ZThn16_" },
		{ "_ZTc", "_ZTc" },
		{ "_Z99999999999999999999f", "_Z99999999999999999999f" },
		{ "_RNvCs_", "_RNvCs_" },
		{ "_D99foo", "_D99foo" },
		{ "_DYNAMIC", "_DYNAMIC" },
		{ "\xff\x80 _Z1fv", "\xff\x80 _Z1fv" },
	};

	(void)state;
	check_all(pairs, DEMANGLE_SHORT);
	check_all(pairs, DEMANGLE_FULL);
}

static void test_as_it_is(void **state)
{
	static const struct pair pairs[] = {
		{ "_ZN1A1bEv.part.0", "_ZN1A1bEv.part.0" },
		{ "f.cold", "f.cold" },
	};

	(void)state;
	check_all(pairs, DEMANGLE_NO);
}

/* A name of 2,000 bytes, as templates of templates have them. */
static void test_long_names_of_cplus(void **state)
{
	autobuf struct buf name = { 0 }, out = { 0 };

	(void)state;
	buf_adds(&name, "_Z1fI");
	for (int i = 0; i < 400; i++)
		buf_adds(&name, "3abc");
	buf_adds(&name, "Evv");
	demangle(&out, name.data, DEMANGLE_SHORT);
	assert_memory_equal(out.data, "f<abc, abc, ", 12);
}

static void test_without_end(void **state)
{
	autobuf struct buf name = { 0 }, out = { 0 };

	(void)state;
	for (int i = 0; i < 100000; i++)
		buf_adds(&name, i ? "\xc3\xa4" : "x");
	for (int mode = DEMANGLE_SHORT; mode <= DEMANGLE_NO; mode++) {
		buf_clear(&out);
		demangle(&out, name.data, (enum symbols_demangle)mode);
		assert_true(out.len <= 16384 && out.len > 16000);
		assert_string_equal(out.data + out.len - 5, "\xc3\xa4\xe2\x80\xa6");
	}
}

/* Each step doubles what the name stands for: 2^60 bytes in the end. */
static void test_names_that_grow(void **state)
{
	static const char *const begins[] = { "_Z1fI1aI", "_Z1fI", "_RINvC1a1f" };
	autobuf struct buf out = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++) {
		autobuf struct buf name = { 0 };

		buf_adds(&name, begins[i]);
		for (int step = 0; step < 60; step++)
			buf_adds(&name, step < 10 ? "1aIS_S_E" : "1aIS0_S1_S2_E");
		buf_adds(&name, "EEvv");
		buf_clear(&out);
		demangle(&out, name.data, DEMANGLE_FULL);
		assert_true(out.len && out.len <= 16384);
	}
	buf_clear(&out);
	demangle(&out, "_D1aFS1bB2QcQdB2QfQgB2QiQjB2QlQmB2QoQpB2QrQsB2QuQvB2QxQyZv", DEMANGLE_SHORT);
	assert_true(out.len && out.len <= 16384);
}

/* S_, S0_, … S9_, SA_ and so on */
static void add_again(struct buf *name, unsigned int number)
{
	buf_addc(name, 'S');
	if (number > 36)
		buf_addc(name, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[(number - 1) / 36]);
	if (number)
		buf_addc(name, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[(number - 1) % 36]);
	buf_addc(name, '_');
}

/* A type that doubles with each level, in which a pack is looked for before anything is printed. */
static void test_names_that_are_searched_for_ever(void **state)
{
	(void)state;
	for (unsigned int levels = 1; levels < 200; levels += 3) {
		autobuf struct buf name = { 0 }, out = { 0 };

		buf_adds(&name, "_Z1fI1BI1AS1_E");
		for (unsigned int i = 0; i < levels; i++) {
			buf_adds(&name, "S0_I");
			add_again(&name, i + 3);
			add_again(&name, i + 3);
			buf_addc(&name, 'E');
		}
		buf_adds(&name, "EDp");
		add_again(&name, levels + 3);
		buf_addc(&name, 'v');
		for (int mode = DEMANGLE_SHORT; mode <= DEMANGLE_FULL; mode++) {
			buf_clear(&out);
			assert_true(demangle(&out, name.data, (enum symbols_demangle)mode) < 1 << 21);
			assert_true(out.len && out.len <= 16384);
		}
		if (levels == 1)
			assert_string_equal(out.data, "(B<B<A, A>, B<A, A> >)... f<B<A, A>, B<B<A, A>, B<A, A> > >()");
	}
}

/* A conversion operator whose type is parsed twice on each level. */
static void test_names_that_are_parsed_for_ever(void **state)
{
	autobuf struct buf name = { 0 }, out = { 0 };

	(void)state;
	buf_adds(&name, "_ZN1AcvT_");
	for (unsigned int i = 0; i < 1000; i++)
		buf_adds(&name, "IT_");
	demangle(&out, name.data, DEMANGLE_FULL);
	assert_string_equal(out.data, name.data);
}

/* libiberty makes room for the product of both numbers on the stack: 15 MB here. */
static void test_names_that_need_more_than_the_stack(void **state)
{
	autobuf struct buf name = { 0 }, out = { 0 };

	(void)state;
	buf_adds(&name, "_Z1fIiEv");
	for (unsigned int list = 0; list < 4; list++) {
		buf_adds(&name, "PFv");
		for (unsigned int i = 0; i < (list < 2 ? 600 : 400); i++)
			buf_adds(&name, list < 2 ? "RT_" : "1BIiE");
		buf_addc(&name, 'E');
	}
	demangle(&out, name.data, DEMANGLE_FULL);
	assert_string_equal(out.data, name.data);
}

/* Within the stack that a worker has, with room to spare. */
static void test_deep_names(void **state)
{
	static const char *const steps[] = { "P", "F", "N1aI", "XadL_Z1f", "DpT", "A1_", "ZN", "IJ", "Xcv", "T_" };
	static const char *const begins[] = { "_Z1f", "_Z1fI", "_ZN", "_RINvC1a1f", "_D1aF", "_R", "_RY" };

	(void)state;
	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++) {
		for (size_t j = 0; j < sizeof(steps) / sizeof(*steps); j++) {
			autobuf struct buf name = { 0 }, out = { 0 };

			buf_adds(&name, begins[i]);
			while (name.len < 8100)
				buf_adds(&name, steps[j]);
			demangle(&out, name.data, DEMANGLE_SHORT);
			assert_true(out.len && out.len <= 16384);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cplus),
		cmocka_unit_test(test_cplus_full),
		cmocka_unit_test(test_rust),
		cmocka_unit_test(test_d),
		cmocka_unit_test(test_parts_fold_into_their_function),
		cmocka_unit_test(test_what_is_not_mangled_stays),
		cmocka_unit_test(test_as_it_is),
		cmocka_unit_test(test_long_names_of_cplus),
		cmocka_unit_test(test_without_end),
		cmocka_unit_test(test_names_that_grow),
		cmocka_unit_test(test_names_that_are_searched_for_ever),
		cmocka_unit_test(test_names_that_are_parsed_for_ever),
		cmocka_unit_test(test_names_that_need_more_than_the_stack),
		cmocka_unit_test(test_deep_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
