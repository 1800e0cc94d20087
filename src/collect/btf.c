/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the kernel's types writes down where every so many begin and finds those with a name that was asked
 * for; from there the types they are made of are reached, numbered in the order in which they are met, and copied with
 * the new numbers in the place of the old ones. Of a hundred thousand names, two letters rule out nearly all.
 *
 * The bytes are the kernel's, but nothing is taken for granted: every type lies whole inside the section, every name
 * inside the strings, which end in NUL, and every number is that of a type. What is not so makes the whole fail.
 */
#include "collect/btf.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/map.h"

#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"
#define KERNEL_TYPES_MAX ((size_t)256 << 20)
#define WISHES 1024   /* slots for names; a power of two, and at most half of them are used */
#define LANDMARKS 64  /* types from one whose place is written down to the next */
#define PAIRS 0x10000 /* of letters */

/* What follows the head of a type, by its kind. */
static const struct layout {
	bool known, root, refers; /* one that can be asked for by name; `type` of the head is a type's number */
	bool items_typed;         /* an item, which begins with its name, has the number of a type next to it */
	uint8_t item, extra;      /* bytes of each item, and of what comes once */
} layouts[] = {
	[BTF_KIND_INT] = { .known = true, .extra = sizeof(uint32_t) },
	[BTF_KIND_PTR] = { .known = true },
	[BTF_KIND_ARRAY] = { .known = true, .extra = sizeof(struct btf_array) },
	[BTF_KIND_STRUCT] = { .known = true, .root = true, .item = sizeof(struct btf_member), .items_typed = true },
	[BTF_KIND_UNION] = { .known = true, .root = true, .item = sizeof(struct btf_member), .items_typed = true },
	[BTF_KIND_ENUM] = { .known = true, .root = true, .item = sizeof(struct btf_enum) },
	[BTF_KIND_FWD] = { .known = true },
	[BTF_KIND_TYPEDEF] = { .known = true, .root = true, .refers = true },
	[BTF_KIND_VOLATILE] = { .known = true, .refers = true },
	[BTF_KIND_CONST] = { .known = true, .refers = true },
	[BTF_KIND_RESTRICT] = { .known = true, .refers = true },
	[BTF_KIND_FUNC] = { .known = true, .refers = true },
	[BTF_KIND_FUNC_PROTO] = { .known = true,
				  .refers = true,
				  .item = sizeof(struct btf_param),
				  .items_typed = true },
	[BTF_KIND_VAR] = { .known = true, .refers = true, .extra = sizeof(struct btf_var) },
	[BTF_KIND_DATASEC] = { .known = true, .item = sizeof(struct btf_var_secinfo) },
	[BTF_KIND_FLOAT] = { .known = true },
	[BTF_KIND_DECL_TAG] = { .known = true, .refers = true, .extra = sizeof(struct btf_decl_tag) },
	[BTF_KIND_TYPE_TAG] = { .known = true, .refers = true },
	[BTF_KIND_ENUM64] = { .known = true, .root = true, .item = sizeof(struct btf_enum64) },
};

struct wish {
	const char *name; /* NULL: a free slot */
	size_t len;
};

struct pick {
	const char *types, *names;
	size_t types_len, names_len;
	uint32_t count;      /* of types; numbers begin with 1 */
	uint32_t *landmarks; /* offsets of types 0 (which is where 1 is), LANDMARKS, and so on */
	struct map become;   /* number → the new one */
	struct buf picked;   /* by new number, less one: offsets, 32 bits each */
	uint32_t picked_len;
	bool bad;
	struct wish wishes[WISHES];
	unsigned int wishes_len;
	uint64_t begins[PAIRS / 64]; /* bits: pairs of letters that a name asked for begins with */
	struct buf out_types, out_names;
};

static void pick_free(struct pick *pick)
{
	free(pick->landmarks);
	map_free(&pick->become);
	buf_free(&pick->picked);
	buf_free(&pick->out_types);
	buf_free(&pick->out_names);
}

static const struct layout *layout_of(uint32_t info)
{
	uint32_t kind = BTF_INFO_KIND(info);

	return kind < sizeof(layouts) / sizeof(*layouts) && layouts[kind].known ? &layouts[kind] : NULL;
}

static size_t type_size(const struct layout *layout, uint32_t info)
{
	return sizeof(struct btf_type) + layout->extra + (size_t)BTF_INFO_VLEN(info) * layout->item;
}

static const struct btf_type *picked_type(const struct pick *pick, uint32_t number)
{
	uint32_t offset;

	memcpy(&offset, pick->picked.data + (number - 1) * sizeof(offset), sizeof(offset));
	return (const void *)(pick->types + offset);
}

static const char *name_at(struct pick *pick, uint32_t offset)
{
	if (offset < pick->names_len)
		return pick->names + offset;
	pick->bad = true;
	return "";
}

/* ---- Names that are asked for ---- */

/* Without what follows ___ at its end: that tells versions of one type apart, and libbpf looks past it. */
static size_t essential_len(const char *name)
{
	size_t len = strlen(name);

	for (size_t at = len; at >= 5; at--) {
		const char *end = name + at - 5;

		if (end[0] != '_' && end[1] == '_' && end[2] == '_' && end[3] == '_' && end[4] != '_')
			return at - 4;
	}
	return len;
}

/* The slot of a name, or the free one where it would be. */
static struct wish *wish_slot(struct pick *pick, const char *name, size_t len)
{
	uint32_t at = 2166136261;

	for (size_t i = 0; i < len; i++)
		at = (at ^ (unsigned char)name[i]) * 16777619;
	for (;; at++) { /* ends: half of the slots are free */
		struct wish *wish = &pick->wishes[at % WISHES];

		if (!wish->name || (wish->len == len && !memcmp(wish->name, name, len)))
			return wish;
	}
}

static unsigned int pair_of(char first, char second)
{
	return (unsigned int)(unsigned char)first << 8 | (unsigned char)second;
}

static void add_pair(struct pick *pick, char first, char second)
{
	pick->begins[pair_of(first, second) / 64] |= 1ULL << pair_of(first, second) % 64;
}

static int make_wishes(struct pick *pick, const struct btf *local)
{
	for (uint32_t i = 1; i < btf__type_cnt(local); i++) {
		const struct btf_type *type = btf__type_by_id(local, i);
		const struct layout *layout = layout_of(type->info);
		const char *name = btf__name_by_offset(local, type->name_off);
		struct wish *wish;

		if (!layout || !layout->root || !name || !*name)
			continue;
		wish = wish_slot(pick, name, essential_len(name));
		if (wish->name)
			continue;
		if (++pick->wishes_len > WISHES / 2)
			return -E2BIG;
		*wish = (struct wish){ name, essential_len(name) };
		add_pair(pick, name[0], wish->len > 1 ? name[1] : 0);
		if (wish->len == 1)
			add_pair(pick, name[0], '_');
	}
	return 0;
}

/* ---- Which types ---- */

static int find_sections(struct pick *pick, const char *kernel, size_t len)
{
	struct btf_header head;
	size_t body;

	if (len < sizeof(head))
		return -EBADMSG;
	memcpy(&head, kernel, sizeof(head));
	if (head.magic != BTF_MAGIC || head.version != BTF_VERSION || head.hdr_len < sizeof(head) || head.hdr_len > len)
		return -EBADMSG;
	body = len - head.hdr_len;
	if (head.type_off > body || head.type_len > body - head.type_off || head.str_off > body ||
	    head.str_len > body - head.str_off || ((uintptr_t)kernel | head.hdr_len | head.type_off) % sizeof(uint32_t))
		return -EBADMSG;
	pick->types = kernel + head.hdr_len + head.type_off;
	pick->types_len = head.type_len;
	pick->names = kernel + head.hdr_len + head.str_off;
	pick->names_len = head.str_len;
	return pick->names_len && !pick->names[pick->names_len - 1] ? 0 : -EBADMSG;
}

/* A type that is picked. Memory that is out shows in buf_error. */
static void add_picked(struct pick *pick, uint32_t number, size_t offset)
{
	uint64_t *new = map_put(&pick->become, number);

	if (!new) {
		pick->picked.err = -ENOMEM;
	} else if (!*new) {
		*new = ++pick->picked_len;
		buf_add(&pick->picked, &(uint32_t){ (uint32_t)offset }, sizeof(uint32_t));
	}
}

static bool is_wished(struct pick *pick, uint32_t at)
{
	const char *name = pick->names + at;
	unsigned int pair;

	if (at >= pick->names_len - 1) {
		pick->bad |= at >= pick->names_len;
		return false;
	}
	pair = pair_of(name[0], name[1]);
	return pick->begins[pair / 64] >> pair % 64 & 1 && wish_slot(pick, name, essential_len(name))->name;
}

static int find_types(struct pick *pick)
{
	size_t most = pick->types_len / sizeof(struct btf_type) / LANDMARKS + 1, at = 0;

	pick->landmarks = malloc(most * sizeof(*pick->landmarks));
	if (!pick->landmarks)
		return -ENOMEM;
	pick->landmarks[0] = 0;
	while (pick->types_len - at >= sizeof(struct btf_type)) {
		const struct btf_type *type = (const void *)(pick->types + at);
		const struct layout *layout = layout_of(type->info);

		if (!layout || type_size(layout, type->info) > pick->types_len - at)
			return -EBADMSG;
		if (++pick->count % LANDMARKS == 0)
			pick->landmarks[pick->count / LANDMARKS] = (uint32_t)at;
		if (layout->root && type->name_off && is_wished(pick, type->name_off))
			add_picked(pick, pick->count, at);
		at += type_size(layout, type->info);
	}
	return at == pick->types_len ? 0 : -EBADMSG;
}

/* All types have been walked over: each has a layout and is inside. */
static size_t find_offset(const struct pick *pick, uint32_t number)
{
	uint32_t from = number / LANDMARKS * LANDMARKS;
	size_t at = pick->landmarks[number / LANDMARKS];

	for (from = from ? from : 1; from < number; from++) {
		const struct btf_type *type = (const void *)(pick->types + at);

		at += type_size(layout_of(type->info), type->info);
	}
	return at;
}

static void reach(struct pick *pick, uint32_t number)
{
	if (number > pick->count)
		pick->bad = true;
	else if (number && !map_get(&pick->become, number))
		add_picked(pick, number, find_offset(pick, number));
}

static void reach_parts(struct pick *pick, const struct btf_type *type)
{
	const struct layout *layout = layout_of(type->info);
	const uint32_t *item = (const void *)(type + 1);

	if (layout->refers)
		reach(pick, type->type);
	if (BTF_INFO_KIND(type->info) == BTF_KIND_ARRAY) {
		reach(pick, ((const struct btf_array *)item)->type);
		reach(pick, ((const struct btf_array *)item)->index_type);
	}
	for (uint32_t i = 0; layout->items_typed && i < BTF_INFO_VLEN(type->info); i++) {
		reach(pick, item[1]);
		item += layout->item / sizeof(*item);
	}
}

/* ---- What is written ---- */

static uint32_t new_number(const struct pick *pick, uint32_t number)
{
	const uint64_t *new = number ? map_get(&pick->become, number) : NULL;

	return new ? (uint32_t) * new : 0;
}

static uint32_t copy_name(struct pick *pick, uint32_t offset)
{
	const char *name = name_at(pick, offset);
	size_t at = pick->out_names.len;

	if (!*name)
		return 0;
	buf_add(&pick->out_names, name, strlen(name) + 1);
	return (uint32_t)at;
}

/* All numbers are those of types: reach_parts saw them. */
static void copy_type(struct pick *pick, const struct btf_type *type)
{
	const struct layout *layout = layout_of(type->info);
	size_t at = pick->out_types.len;
	struct btf_type *copy;
	uint32_t *item;

	buf_add(&pick->out_types, type, type_size(layout, type->info));
	if (buf_error(&pick->out_types))
		return;
	copy = (void *)(pick->out_types.data + at);
	copy->name_off = copy_name(pick, type->name_off);
	item = (void *)(copy + 1);
	if (BTF_INFO_KIND(type->info) == BTF_KIND_PTR)
		copy->type = 0;
	if (layout->refers)
		copy->type = new_number(pick, copy->type);
	if (BTF_INFO_KIND(type->info) == BTF_KIND_ARRAY) {
		struct btf_array *array = (void *)item;

		array->type = new_number(pick, array->type);
		array->index_type = new_number(pick, array->index_type);
	}
	for (uint32_t i = 0; layout->item && i < BTF_INFO_VLEN(type->info); i++) {
		item[0] = copy_name(pick, item[0]);
		if (layout->items_typed)
			item[1] = new_number(pick, item[1]);
		item += layout->item / sizeof(*item);
	}
}

static int run(struct pick *pick, const struct btf *local, const void *kernel, size_t len)
{
	int err = find_sections(pick, kernel, len);

	err = err ? err : make_wishes(pick, local);
	err = err ? err : find_types(pick);
	for (uint32_t i = 1; !err && i <= pick->picked_len; i++) { /* grows, by each type once */
		err = buf_error(&pick->picked);
		if (!err)
			reach_parts(pick, picked_type(pick, i));
	}
	err = err ? err : buf_error(&pick->picked);
	if (err || pick->bad)
		return err ? err : -EBADMSG;
	buf_addc(&pick->out_names, 0);
	for (uint32_t i = 1; i <= pick->picked_len; i++)
		copy_type(pick, picked_type(pick, i));
	err = buf_error(&pick->out_types);
	err = err ? err : buf_error(&pick->out_names);
	return pick->bad ? -EBADMSG : err;
}

int btf_pick(const struct btf *local, const void *kernel, size_t len, struct buf *ret)
{
	struct pick *pick = calloc(1, sizeof(*pick));
	struct btf_header head = { .magic = BTF_MAGIC, .version = BTF_VERSION, .hdr_len = sizeof(head) };
	int err = pick ? run(pick, local, kernel, len) : -ENOMEM;

	if (!err) {
		head.type_len = head.str_off = (uint32_t)pick->out_types.len;
		head.str_len = (uint32_t)pick->out_names.len;
		buf_add(ret, &head, sizeof(head));
		buf_add(ret, pick->out_types.data, pick->out_types.len);
		buf_add(ret, pick->out_names.data, pick->out_names.len);
		err = buf_error(ret);
	}
	if (pick)
		pick_free(pick);
	free(pick);
	return err;
}

int btf_pick_running(const struct btf *local, int fd)
{
	autoclose int in = open(KERNEL_TYPES, O_RDONLY | O_CLOEXEC);
	autobuf struct buf copy = { 0 }, small = { 0 };
	struct stat about;
	void *mapped;
	int err;

	if (in < 0 || fstat(in, &about))
		return -errno;
	if (about.st_size <= 0 || (uint64_t)about.st_size > KERNEL_TYPES_MAX)
		return -EFBIG;
	mapped = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, in, 0); /* 6.16 and later */
	if (mapped != MAP_FAILED) {
		err = btf_pick(local, mapped, (size_t)about.st_size, &small);
		munmap(mapped, (size_t)about.st_size);
	} else {
		err = file_read_fd(in, KERNEL_TYPES_MAX, &copy);
		err = err ? err : btf_pick(local, copy.data, copy.len, &small);
	}
	return err ? err : file_write_all(fd, small.data, small.len);
}
