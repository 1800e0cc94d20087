/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of one file, from all that it has. In: the file, its debug files if there are any, and offsets. Out: names, or
 * none. Invariant: a name is given only for an address that lies inside the bounds of what is named, by the symbol's
 * size, .eh_frame or Go's table. Nothing is read before the first question needs it.
 */
#include "sym/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "base/buf.h"
#include "elf/debugdata.h"
#include "elf/debuglink.h"
#include "elf/dwarf.h"
#include "elf/ehframe.h"
#include "elf/gopclntab.h"
#include "elf/image.h"
#include "elf/plt.h"
#include "sym/demangle.h"
#include "sym/table.h"

#define START_MAX 64                    /* bytes of _start where nothing says how long it is */
#define NAME_LEN_MAX ((size_t)16 << 10) /* of a name that is not demangled */
#define SOURCE_LEN_MAX 4096
#define DYNAMIC_MAX 1024    /* entries looked at */
#define QUESTION_STEPS 4096 /* that an address may cost on top of what its file may */

struct symbols {
	struct symbols_options options;
	char *file;
	struct image *image, *debug, *alt;
	struct image *packed; /* .gnu_debugdata, unpacked to: */
	void *packed_bytes;
	size_t packed_len;
	struct table *table;
	struct ehframe *frames;
	struct plt *plt;
	struct gopclntab *go;
	struct debuginfo *info;
	bool indexed; /* table, packed and frames are as they should be */
	bool info_tried;
	bool has_start; /* the entry point is _start */
	const char *reason;
	struct buf text;   /* of the last answer */
	const char *known; /* a symbol's name as it stands in the file, and for people: most questions come in groups */
	struct buf known_text;
};

/* ---- opening ---- */

/* Is it a program? A shared object has an entry point as well at times, with another name. */
static bool is_program(const struct image *image)
{
	const Elf64_Ehdr *header = image_header(image);
	Elf64_Phdr segment;

	if (header->e_type != ET_DYN)
		return header->e_type == ET_EXEC;
	for (uint32_t i = 0; i < image_segments(image); i++) {
		const unsigned char *bytes;

		if (!image_segment(image, i, &segment) || segment.p_type != PT_DYNAMIC)
			continue;
		bytes = image_bytes(image, segment.p_offset, segment.p_filesz);
		for (size_t at = 0; bytes && at < segment.p_filesz / sizeof(Elf64_Dyn) && at < DYNAMIC_MAX; at++) {
			Elf64_Dyn entry;

			memcpy(&entry, bytes + at * sizeof(entry), sizeof(entry));
			if (entry.d_tag == DT_SONAME)
				return false;
			if (entry.d_tag == DT_NULL)
				break;
		}
		return bytes != NULL;
	}
	return false;
}

static bool has_section(const struct image *image, const char *name)
{
	struct image_section section;

	return image && image_section_named(image, name, &section) && section.type != SHT_NOBITS;
}

static bool has_symtab(const struct image *image)
{
	return image && has_section(image, ".symtab");
}

static bool has_dwarf(const struct image *image)
{
	return has_section(image, ".debug_info") || has_section(image, ".zdebug_info");
}

static int open_image(struct symbols *symbols, int fd)
{
	uint64_t start, end;
	int err = image_open(&symbols->image, fd);

	if (err)
		return err;
	if (!image_code_range(symbols->image, &start, &end))
		symbols->reason = "bad_elf";
	symbols->has_start =
		is_program(symbols->image) && image_executable(symbols->image, image_header(symbols->image)->e_entry);
	err = gopclntab_open(&symbols->go, symbols->image);
	return err == -ENOMEM ? err : 0;
}

int symbols_open(struct symbols **ret, int fd, const struct symbols_options *options)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));
	int err;

	if (!symbols)
		return -ENOMEM;
	symbols->options = *options;
	symbols->file = strndup(options->file ? options->file : "", NAME_LEN_MAX);
	symbols->options.file = symbols->file;
	err = symbols->file ? open_image(symbols, fd) : -ENOMEM;
	if (err)
		symbols_free(symbols);
	else
		*ret = symbols;
	return err;
}

/* What index() made. */
static void forget_index(struct symbols *symbols)
{
	table_free(symbols->table);
	ehframe_free(symbols->frames);
	plt_free(symbols->plt);
	image_free(symbols->packed);
	free(symbols->packed_bytes);
	symbols->table = NULL;
	symbols->frames = NULL;
	symbols->plt = NULL;
	symbols->packed = NULL;
	symbols->packed_bytes = NULL;
	symbols->packed_len = 0;
	symbols->known = NULL;
	symbols->indexed = false;
}

static void forget_info(struct symbols *symbols)
{
	debuginfo_free(symbols->info);
	symbols->info = NULL;
	symbols->info_tried = false;
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	forget_info(symbols);
	forget_index(symbols);
	gopclntab_free(symbols->go);
	image_free(symbols->image);
	image_free(symbols->debug);
	image_free(symbols->alt);
	buf_free(&symbols->text);
	buf_free(&symbols->known_text);
	free(symbols->file);
	free(symbols);
}

/* ---- debug files ---- */

static const struct image *dwarf_image(const struct symbols *symbols)
{
	if (has_dwarf(symbols->image))
		return symbols->image;
	return has_dwarf(symbols->debug) ? symbols->debug : NULL;
}

void symbols_debug(const struct symbols *symbols, struct symbols_debug *ret)
{
	bool wants_dwarf = symbols->options.inlines || symbols->options.lines;
	const struct image *dwarf = dwarf_image(symbols);

	*ret = (struct symbols_debug){ 0 };
	ret->build_id_len = image_build_id(symbols->image, ret->build_id);
	debuglink_read(symbols->image, ret->link, &ret->link_crc);
	if (wants_dwarf && dwarf && !symbols->alt)
		ret->alt_id_len = debuglink_read_alt(dwarf, ret->alt_link, ret->alt_id);
	ret->wanted = !symbols->debug && ((!has_symtab(symbols->image) && !symbols->go) || (wants_dwarf && !dwarf));
}

static bool is_alt(const struct symbols *symbols, const struct image *debug)
{
	const struct image *dwarf = dwarf_image(symbols);

	return dwarf && !symbols->alt && debuglink_is_alt(dwarf, debug);
}

int symbols_add_debug(struct symbols *symbols, int fd)
{
	struct image *debug;
	int err = image_open(&debug, fd);

	if (err)
		return err;
	if (is_alt(symbols, debug)) {
		symbols->alt = debug;
	} else if (!symbols->debug && debuglink_belongs(symbols->image, debug)) {
		symbols->debug = debug;
		forget_index(symbols);
	} else {
		image_free(debug);
		return symbols->debug ? -EEXIST : -ESTALE;
	}
	forget_info(symbols);
	return 0;
}

/* ---- the index ---- */

static const char *reason_of(int err, const char *otherwise)
{
	switch (err) {
	case -ENOMEM:
		return "no_memory";
	case -E2BIG:
		return "too_many_symbols";
	case -EFBIG:
		return "too_big";
	default:
		return otherwise;
	}
}

/* How many functions came from there; the reason is kept if not all of them. */
static long take(struct symbols *symbols, const struct image *from, uint32_t type)
{
	long found = from ? table_add(symbols->table, from, type) : 0;

	if (found < 0)
		symbols->reason = reason_of((int)found, "bad_symbols");
	return found;
}

static long take_packed(struct symbols *symbols)
{
	int err = debugdata_read(symbols->image, &symbols->packed_bytes, &symbols->packed_len);

	if (err == -ENODATA)
		return 0;
	if (!err)
		err = image_from_memory(&symbols->packed, symbols->packed_bytes, symbols->packed_len);
	if (err) {
		symbols->reason = reason_of(err, "bad_debugdata");
		return 0;
	}
	return take(symbols, symbols->packed, SHT_SYMTAB);
}

/* A table of symbols may have been thinned out, so what is exported is looked at in any case. */
static void fill_table(struct symbols *symbols)
{
	long found = take(symbols, symbols->image, SHT_SYMTAB);

	if (!found)
		found = take(symbols, symbols->debug, SHT_SYMTAB);
	if (!found)
		found = take_packed(symbols);
	if (found >= 0)
		take(symbols, symbols->image, SHT_DYNSYM);
	table_seal(symbols->table);
	if (!found && !symbols->go && !symbols->reason)
		symbols->reason = "stripped";
}

static bool index_file(struct symbols *symbols)
{
	int err;

	if (symbols->indexed)
		return symbols->table != NULL;
	symbols->indexed = true;
	if (symbols->reason && strcmp(symbols->reason, "bad_elf"))
		symbols->reason = NULL;
	err = table_new(&symbols->table, symbols->image);
	if (err) {
		symbols->reason = reason_of(err, NULL);
		return false;
	}
	fill_table(symbols);
	err = plt_open(&symbols->plt, symbols->image);
	if (err && err != -ENODATA)
		symbols->reason = reason_of(err, NULL);
	err = ehframe_open(&symbols->frames, symbols->image);
	if (err && err != -ENODATA)
		symbols->reason = reason_of(err, NULL);
	return true;
}

/* ---- one address ---- */

/* What is known of the function itself: its name is in the text already. */
struct function {
	size_t name; /* offset in the text */
	uint64_t start;
};

/* As it is, where demangling has cost all that the file may. */
static void add_demangled(struct symbols *symbols, const char *name)
{
	struct budget *budget = image_budget(symbols->image);

	budget_spend(budget, demangle(&symbols->text, name, budget->spent ? DEMANGLE_NO : symbols->options.demangle));
}

/* The version that linkers write behind a name is not part of it: memcpy@@GLIBC_2.14 */
static void add_name(struct symbols *symbols, const char *name)
{
	size_t len = strnlen(name, NAME_LEN_MAX + 1);
	const char *at = memchr(name, '@', len);
	autobuf struct buf copy = { 0 };

	if (!at || at == name) {
		add_demangled(symbols, name);
		return;
	}
	buf_add(&copy, name, (size_t)(at - name));
	if (!buf_error(&copy))
		add_demangled(symbols, copy.data);
}

static void add_symbol(struct symbols *symbols, const char *name)
{
	size_t before = symbols->text.len;

	if (symbols->known == name) {
		buf_add(&symbols->text, symbols->known_text.data, symbols->known_text.len);
		return;
	}
	add_name(symbols, name);
	if (buf_error(&symbols->text))
		return;
	buf_clear(&symbols->known_text);
	buf_add(&symbols->known_text, symbols->text.data + before, symbols->text.len - before);
	symbols->known = buf_error(&symbols->known_text) ? NULL : name;
}

static void add_nameless(struct symbols *symbols, uint64_t start)
{
	buf_addf(&symbols->text, "%s@0x%llx", symbols->file, (unsigned long long)start);
}

/* The stubs are described in .eh_frame as one function: they come before it. */
static bool find_stub(struct symbols *symbols, uint64_t address, struct function *ret)
{
	struct plt_stub stub;

	if (!symbols->plt || !plt_find(symbols->plt, address, &stub))
		return false;
	ret->start = stub.start;
	if (stub.name) {
		add_name(symbols, stub.name);
		buf_adds(&symbols->text, "@plt");
	} else {
		add_nameless(symbols, stub.start);
	}
	return true;
}

/* Where .eh_frame says that a function is, a symbol without a size at its start is its name. */
static bool find_bounds(struct symbols *symbols, uint64_t address, struct function *ret)
{
	struct ehframe_range range;
	struct table_symbol symbol;

	if (!symbols->frames || !ehframe_find(symbols->frames, address, &range))
		return false;
	/* A trampoline's description begins one byte early, for unwinders that look before a return address. */
	range.start += range.signal;
	ret->start = range.start;
	if (address >= range.start && table_find_unsized(symbols->table, range.start, &symbol))
		add_name(symbols, symbol.name);
	else if (symbols->has_start && range.start == image_header(symbols->image)->e_entry)
		buf_adds(&symbols->text, "_start");
	else
		add_nameless(symbols, range.start);
	return true;
}

/* Where nothing else is known, the entry point's code reaches to the next symbol, but not far. */
static bool find_start(struct symbols *symbols, uint64_t address, struct function *ret)
{
	uint64_t entry = image_header(symbols->image)->e_entry;
	struct ehframe_range range;

	if (!symbols->has_start || address < entry || address - entry >= START_MAX ||
	    address >= table_next(symbols->table, entry) ||
	    (symbols->frames && ehframe_find(symbols->frames, entry, &range)))
		return false;
	buf_adds(&symbols->text, "_start");
	ret->start = entry;
	return true;
}

static bool find_function(struct symbols *symbols, uint64_t address, struct function *ret)
{
	struct table_symbol symbol;

	ret->name = symbols->text.len;
	if (!index_file(symbols))
		return false;
	if (table_find(symbols->table, address, &symbol)) {
		add_symbol(symbols, symbol.name);
		ret->start = symbol.start;
		return true;
	}
	return find_stub(symbols, address, ret) || find_bounds(symbols, address, ret) ||
	       find_start(symbols, address, ret);
}

/* ---- answers ---- */

/* Text grows while an answer is made, so places in it are kept as offsets until it is whole; 0 is no text. */
struct answer {
	size_t name[SYMBOLS_INLINE_MAX], source[SYMBOLS_INLINE_MAX];
	uint32_t line[SYMBOLS_INLINE_MAX];
	uint64_t start[SYMBOLS_INLINE_MAX]; /* virtual addresses */
	size_t len;
};

static size_t add_text(struct symbols *symbols, const char *text, size_t len)
{
	size_t at;

	buf_addc(&symbols->text, '\0');
	at = symbols->text.len;
	buf_add(&symbols->text, text, len);
	return at;
}

static size_t add_source(struct symbols *symbols, const char *source, size_t len)
{
	return source && symbols->options.lines ? add_text(symbols, source, len > SOURCE_LEN_MAX ? SOURCE_LEN_MAX : len)
						: 0;
}

static void answer_go(struct symbols *symbols, uint64_t address, size_t max, struct answer *answer)
{
	struct gopclntab_name list[SYMBOLS_INLINE_MAX];

	answer->len = gopclntab_find(symbols->go, address, list, max);
	for (size_t i = 0; i < answer->len; i++) {
		size_t len = list[i].len > NAME_LEN_MAX ? NAME_LEN_MAX : list[i].len;

		answer->name[i] = add_text(symbols, list[i].name, strnlen(list[i].name, len));
		answer->source[i] = add_source(symbols, list[i].file, list[i].file_len);
		answer->line[i] = symbols->options.lines ? list[i].line : 0;
		answer->start[i] = list[i].start;
	}
}

static struct debuginfo *open_info(struct symbols *symbols)
{
	const struct image *image = dwarf_image(symbols);
	int err;

	if (symbols->info_tried)
		return symbols->info;
	symbols->info_tried = true;
	err = image ? debuginfo_open(&symbols->info, image) : -ENODATA;
	if (!err && symbols->alt)
		err = debuginfo_add_alt(symbols->info, symbols->alt);
	if (err && err != -ENODATA)
		symbols->reason = reason_of(err, "bad_dwarf");
	return symbols->info;
}

/* Inlined functions before the one that is there already, as the last of the answer, and lines for all of them. */
static void answer_dwarf(struct symbols *symbols, uint64_t address, size_t max, struct answer *answer)
{
	struct debuginfo_frame list[SYMBOLS_INLINE_MAX];
	struct debuginfo *info = open_info(symbols);
	size_t name = answer->name[0], len = info ? debuginfo_find(info, address, list, max) : 0, from = 0;

	if (info && debuginfo_exhausted(info))
		symbols->reason = "dwarf_budget";
	if (!len)
		return;
	if (!symbols->options.inlines) { /* the line is that of the innermost, by the address itself */
		list[len - 1].source = list[0].source;
		list[len - 1].line = list[0].line;
		from = len - 1;
	}
	for (size_t i = from; i < len; i++) {
		size_t at = i - from;

		if (i + 1 < len) {
			answer->name[at] = add_text(symbols, "", 0);
			add_name(symbols, list[i].name ? list[i].name : "[inlined]");
			answer->start[at] = answer->start[0];
		} else {
			answer->name[at] = name;
			answer->start[at] = answer->start[0];
		}
		answer->source[at] =
			list[i].source ? add_source(symbols, list[i].source, strnlen(list[i].source, SOURCE_LEN_MAX))
				       : 0;
		answer->line[at] = symbols->options.lines ? list[i].line : 0;
	}
	answer->len = len - from;
}

static size_t give(struct symbols *symbols, const struct answer *answer, struct symbol_name *list)
{
	const char *text = symbols->text.data;

	if (buf_error(&symbols->text)) {
		symbols->reason = "no_memory";
		return 0;
	}
	for (size_t i = 0; i < answer->len; i++) {
		list[i] = (struct symbol_name){ .name = text + answer->name[i],
						.len = strlen(text + answer->name[i]),
						.source = answer->source[i] ? text + answer->source[i] : NULL,
						.line = answer->line[i],
						.inlined = i + 1 < answer->len };
		if (!image_address_to_offset(symbols->image, answer->start[i], &list[i].start))
			list[i].start = 0;
	}
	return answer->len;
}

size_t symbols_find(struct symbols *symbols, uint64_t offset, struct symbol_name *list, size_t max)
{
	struct answer answer;
	struct function function;
	uint64_t address;

	max = max > SYMBOLS_INLINE_MAX ? SYMBOLS_INLINE_MAX : max;
	buf_clear(&symbols->text);
	if (!max || !image_offset_to_address(symbols->image, offset, &address) ||
	    !image_executable(symbols->image, address))
		return 0;
	budget_grant(image_budget(symbols->image), QUESTION_STEPS);
	answer.len = 0;
	if (symbols->go)
		answer_go(symbols, address, max, &answer);
	if (!answer.len && find_function(symbols, address, &function)) {
		answer.len = 1;
		answer.name[0] = function.name;
		answer.start[0] = function.start;
		answer.source[0] = 0;
		answer.line[0] = 0;
		if (symbols->options.inlines || symbols->options.lines)
			answer_dwarf(symbols, address, max, &answer);
	}
	return give(symbols, &answer, list);
}

const char *symbols_reason(struct symbols *symbols)
{
	if (!symbols->go)
		index_file(symbols);
	if (!symbols->reason && image_budget(symbols->image)->spent)
		symbols->reason = "too_complex";
	return symbols->reason;
}

void symbols_rest(struct symbols *symbols)
{
	const struct image *images[] = { symbols->image, symbols->debug };

	for (size_t i = 0; i < 2 && !symbols->info; i++) /* libelf may have written to its private copy */
		if (images[i])
			image_release(images[i], 0, image_size(images[i]));
}

size_t symbols_memory(const struct symbols *symbols)
{
	size_t bytes = sizeof(*symbols) + symbols->packed_len + symbols->text.cap;

	bytes += symbols->table ? table_memory(symbols->table) : 0;
	bytes += symbols->frames ? ehframe_memory(symbols->frames) : 0;
	bytes += symbols->plt ? plt_memory(symbols->plt) : 0;
	return bytes + (symbols->info ? debuginfo_memory(symbols->info) : 0);
}
