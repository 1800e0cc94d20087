/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small kernel's types, made with libbpf, and an object that names some of them: what is picked is what libbpf needs,
 * laid out as it was. Then the same kernel with every byte of it damaged.
 */
#include "collect/btf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

static int number(int id)
{
	assert_true(id > 0);
	return id;
}

/*
 *	struct inner { char name[16]; };
 *	struct task { long flags; unsigned bits:3, more:5; struct inner; union { state_t state; struct list *next; };
 *		handler_t handler; enum mode mode; enum wide wide; };
 *	struct list { struct far far; };          reached by a pointer only
 *	struct other { struct far far; };         asked for by nobody
 */
static struct btf *make_kernel(void)
{
	struct btf *btf = btf__new_empty();
	int type_long = number(btf__add_int(btf, "long int", 8, BTF_INT_SIGNED));
	int type_int = number(btf__add_int(btf, "unsigned int", 4, 0));
	int type_char = number(btf__add_int(btf, "char", 1, BTF_INT_CHAR));
	int far, list, other, name, inner, state, pointer, choice, proto, handler, mode, wide, task;

	far = number(btf__add_struct(btf, "far", 8));
	btf__add_field(btf, "distance", type_long, 0, 0);
	list = number(btf__add_struct(btf, "list", 8));
	btf__add_field(btf, "far", far, 0, 0);
	other = number(btf__add_struct(btf, "other", 8));
	btf__add_field(btf, "far", far, 0, 0);
	number(btf__add_decl_tag(btf, "a tag", other, -1));
	name = number(btf__add_array(btf, type_int, type_char, 16));
	inner = number(btf__add_struct(btf, "inner", 16));
	btf__add_field(btf, "name", name, 0, 0);
	state = number(btf__add_typedef(btf, "state_t", btf__add_volatile(btf, btf__add_const(btf, type_int))));
	pointer = number(btf__add_ptr(btf, btf__add_type_tag(btf, "rcu", list)));
	choice = number(btf__add_union(btf, NULL, 8));
	btf__add_field(btf, "state", state, 0, 0);
	btf__add_field(btf, "next", pointer, 0, 0);
	proto = number(btf__add_func_proto(btf, type_int));
	btf__add_func_param(btf, "first", type_long);
	number(btf__add_func(btf, "function", BTF_FUNC_STATIC, proto));
	handler = number(btf__add_typedef(btf, "handler_t", btf__add_ptr(btf, proto)));
	mode = number(btf__add_enum(btf, "mode", 4));
	btf__add_enum_value(btf, "MODE_ON", 7);
	wide = number(btf__add_enum64(btf, "wide", 8, false));
	btf__add_enum64_value(btf, "WIDE_ON", 1ULL << 40);
	task = number(btf__add_struct(btf, "task", 64));
	btf__add_field(btf, "flags", type_long, 0, 0);
	btf__add_field(btf, "bits", type_int, 64, 3);
	btf__add_field(btf, "more", type_int, 67, 5);
	btf__add_field(btf, NULL, inner, 128, 0);
	btf__add_field(btf, NULL, choice, 256, 0);
	btf__add_field(btf, "handler", handler, 320, 0);
	btf__add_field(btf, "mode", mode, 384, 0);
	btf__add_field(btf, "wide", wide, 448, 0);
	number(btf__add_typedef(btf, "task_fn", proto));
	number(btf__add_struct(btf, "task___late", 4));
	number(btf__add_var(btf, "variable", BTF_VAR_STATIC, task));
	number(btf__add_datasec(btf, "section", 64));
	number(btf__add_fwd(btf, "task", BTF_FWD_STRUCT));
	return btf;
}

static struct btf *make_local(void)
{
	struct btf *btf = btf__new_empty();

	number(btf__add_struct(btf, "task___wick", 0));
	number(btf__add_enum(btf, "wide___wick", 4));
	btf__add_enum_value(btf, "WIDE_ON___wick", 1);
	number(btf__add_typedef(btf, "task_fn", 0));
	number(btf__add_struct(btf, "unknown", 0));
	number(btf__add_int(btf, "long int", 8, BTF_INT_SIGNED));
	return btf;
}

static struct btf *pick(const struct btf *kernel)
{
	autobuf struct buf small = { 0 };
	struct btf *local = make_local(), *picked;
	uint32_t len;
	const void *bytes = btf__raw_data(kernel, &len);

	assert_int_equal(btf_pick(local, bytes, len, &small), 0);
	picked = btf__new(small.data, (uint32_t)small.len);
	assert_non_null(picked);
	btf__free(local);
	return picked;
}

static void assert_same_members(const struct btf *a, const struct btf *b, const char *name, uint32_t kind)
{
	const struct btf_type *left = btf__type_by_id(a, (uint32_t)number(btf__find_by_name_kind(a, name, kind)));
	const struct btf_type *right = btf__type_by_id(b, (uint32_t)number(btf__find_by_name_kind(b, name, kind)));

	assert_int_equal(left->info, right->info);
	assert_int_equal(left->size, right->size);
	for (uint32_t i = 0; i < btf_vlen(left); i++) {
		const struct btf_member *m = btf_members(left) + i, *n = btf_members(right) + i;

		assert_string_equal(btf__name_by_offset(a, m->name_off), btf__name_by_offset(b, n->name_off));
		assert_int_equal(m->offset, n->offset);
		assert_int_equal(btf__resolve_size(a, m->type), btf__resolve_size(b, n->type));
		assert_int_equal(btf_kind(btf__type_by_id(a, m->type)), btf_kind(btf__type_by_id(b, n->type)));
	}
}

static void test_what_is_named_keeps_its_layout(void **state)
{
	struct btf *kernel = make_kernel(), *picked = pick(kernel);

	(void)state;
	assert_same_members(kernel, picked, "task", BTF_KIND_STRUCT);
	assert_same_members(kernel, picked, "inner", BTF_KIND_STRUCT);
	assert_same_members(kernel, picked, "task___late", BTF_KIND_STRUCT);
	number(btf__find_by_name_kind(picked, "task_fn", BTF_KIND_TYPEDEF));
	number(btf__find_by_name_kind(picked, "mode", BTF_KIND_ENUM));
	btf__free(picked);
	btf__free(kernel);
}

static void test_an_enum_may_have_become_wide(void **state)
{
	struct btf *kernel = make_kernel(), *picked = pick(kernel);
	int id = btf__find_by_name_kind(picked, "wide", BTF_KIND_ENUM64);
	const struct btf_type *type = btf__type_by_id(picked, (uint32_t)number(id));

	(void)state;
	assert_int_equal(btf_vlen(type), 1);
	assert_string_equal(btf__name_by_offset(picked, btf_enum64(type)->name_off), "WIDE_ON");
	assert_true(btf_enum64_value(btf_enum64(type)) == 1ULL << 40);
	btf__free(picked);
	btf__free(kernel);
}

static void test_pointers_are_not_followed(void **state)
{
	struct btf *kernel = make_kernel(), *picked = pick(kernel);

	(void)state;
	assert_true(btf__find_by_name(picked, "list") < 0);
	assert_true(btf__find_by_name(picked, "far") < 0);
	assert_true(btf__find_by_name(picked, "other") < 0);
	assert_true(btf__find_by_name(picked, "function") < 0);
	for (uint32_t i = 1; i < btf__type_cnt(picked); i++)
		if (btf_is_ptr(btf__type_by_id(picked, i)))
			assert_int_equal(btf__type_by_id(picked, i)->type, 0);
	btf__free(picked);
	btf__free(kernel);
}

/* Every number in it is that of a type, or libbpf would go astray. */
static void assert_sound(const struct buf *small)
{
	struct btf *btf = btf__new(small->data, (uint32_t)small->len);
	uint32_t count;

	assert_non_null(btf);
	count = btf__type_cnt(btf);
	for (uint32_t i = 1; i < count; i++) {
		const struct btf_type *type = btf__type_by_id(btf, i);

		assert_non_null(btf__name_by_offset(btf, type->name_off));
		if (btf_is_mod(type) || btf_is_typedef(type) || btf_is_ptr(type) || btf_is_func_proto(type))
			assert_true(type->type < count);
		if (btf_is_array(type))
			assert_true(btf_array(type)->type < count && btf_array(type)->index_type < count);
		for (uint32_t j = 0; btf_is_composite(type) && j < btf_vlen(type); j++)
			assert_true(btf_members(type)[j].type < count);
	}
	btf__free(btf);
}

static void test_damaged(void **state)
{
	struct btf *kernel = make_kernel(), *local = make_local();
	unsigned int refused = 0;
	uint32_t len;
	const void *bytes = btf__raw_data(kernel, &len);
	unsigned char *copy = malloc(len);

	(void)state;
	assert_non_null(copy);
	for (uint32_t at = 0; at < len; at++) {
		static const unsigned char damage[] = { 0x00, 0x01, 0x0e, 0x7f, 0x80, 0xff };

		for (size_t i = 0; i < sizeof(damage); i++) {
			autobuf struct buf small = { 0 };
			int err;

			memcpy(copy, bytes, len);
			copy[at] = damage[i];
			err = btf_pick(local, copy, len, &small);
			assert_true(!err || err == -EBADMSG);
			refused += !!err;
			if (!err)
				assert_sound(&small);
		}
	}
	assert_true(refused > 100);
	free(copy);
	btf__free(local);
	btf__free(kernel);
}

static void test_cut_short(void **state)
{
	struct btf *kernel = make_kernel(), *local = make_local();
	uint32_t len;
	const void *bytes = btf__raw_data(kernel, &len);

	(void)state;
	for (uint32_t cut = 0; cut < len; cut++) {
		autobuf struct buf small = { 0 };
		unsigned char *copy = malloc(cut ? cut : 1);

		assert_non_null(copy);
		memcpy(copy, bytes, cut);
		assert_int_equal(btf_pick(local, copy, cut, &small), -EBADMSG);
		assert_int_equal(small.len, 0);
		free(copy);
	}
	btf__free(local);
	btf__free(kernel);
}

static void test_more_names_than_there_is_room_for(void **state)
{
	struct btf *kernel = make_kernel(), *local = btf__new_empty();
	autobuf struct buf small = { 0 };
	uint32_t len;
	const void *bytes = btf__raw_data(kernel, &len);

	(void)state;
	for (int i = 0; i < 2000; i++) {
		char name[32];

		snprintf(name, sizeof(name), "type_%d", i);
		number(btf__add_struct(local, name, 0));
	}
	assert_int_equal(btf_pick(local, bytes, len, &small), -E2BIG);
	btf__free(local);
	btf__free(kernel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_named_keeps_its_layout),
		cmocka_unit_test(test_an_enum_may_have_become_wide),
		cmocka_unit_test(test_pointers_are_not_followed),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_cut_short),
		cmocka_unit_test(test_more_names_than_there_is_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
