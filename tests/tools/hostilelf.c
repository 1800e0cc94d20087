/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a file that was made to be hard to read: hostilelf MODE FILE [BYTES]. Without arguments it lists the modes,
 * each with what the worker is asked when such a file is sampled (tests/tools/served) and a word on it. The modes named
 * good are well-formed files of the same size, to compare with.
 */
#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "../unit/elf_file.h"
#include "../unit/frames.h"
#include "hostile_debug.h"

#define BYTES ((size_t)4 << 20)
#define FUNCTION 64 /* bytes of a function */

/* A file that is being made. */
struct made {
	struct elf_file elf;
	struct buf raw;  /* instead of it: no ELF file, or one with more sections than that can hold */
	uint64_t sparse; /* how large it is said to be, with a hole at its end; 0: as it is */
	size_t size;     /* about so many bytes are wanted */
};

static uint64_t address_of(const struct made *made, unsigned int section)
{
	return made->elf.sections[section].sh_addr;
}

static void add_text(struct made *made, size_t len)
{
	autobuf struct buf code = { 0 };

	put_fill(&code, 0x90, len);
	elf_file_add(&made->elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, code.data, code.len);
}

/* .eh_frame, whose address frames must know beforehand: nothing may be added in between. */
static struct frames frames_here(struct made *made)
{
	elf_file_pad(&made->elf, 16);
	return (struct frames){ .address = ELF_FILE_BASE + made->elf.bytes.len };
}

static void add_frames(struct made *made, struct frames *frames)
{
	elf_file_add(&made->elf, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, frames->bytes.data, frames->bytes.len);
	buf_free(&frames->bytes);
}

static void add_section(struct made *made, const char *name, const struct buf *content)
{
	elf_file_add(&made->elf, name, SHT_PROGBITS, 0, content->data, content->len);
}

static void add_symbol(struct buf *symbols, uint64_t address, uint64_t size, size_t name)
{
	Elf64_Sym symbol = { .st_name = (uint32_t)name,
			     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			     .st_shndx = 1, /* .text comes first */
			     .st_value = address,
			     .st_size = size };

	buf_add(symbols, &symbol, sizeof(symbol));
}

static void add_symbols(struct made *made, const struct buf *symbols, const struct buf *strings)
{
	elf_file_add_symbols(&made->elf, SHT_SYMTAB, (const Elf64_Sym *)(const void *)symbols->data,
			     symbols->len / sizeof(Elf64_Sym), strings->data, strings->len);
}

/* ---- well-formed ---- */

static void make_good(struct made *made)
{
	static const char program[] = "\x41\x0e\x10\x83\x02\x44\x0e\x20\x6c\x0e\x10\x41\x0e\x08";
	const size_t functions = made->size / 160;
	autobuf struct buf symbols = { 0 }, strings = { 0 };
	struct frames frames;

	add_text(made, functions * FUNCTION);
	frames = frames_here(made);
	frames_add_usual_cie(&frames);
	buf_addc(&strings, 0);
	for (size_t i = 0; i < functions; i++) {
		uint64_t address = address_of(made, 1) + i * FUNCTION;

		frames_add_fde(&frames, address, FUNCTION, program, sizeof(program) - 1);
		add_symbol(&symbols, address, FUNCTION, strings.len);
		buf_addf(&strings, "_ZN4wick6moduleILi%zuEE8functionERKSsS2_", i);
		buf_addc(&strings, 0);
	}
	add_frames(made, &frames);
	add_symbols(made, &symbols, &strings);
}

static void make_good_map(struct made *made)
{
	map_good(&made->raw, made->size);
}

static void make_good_dump(struct made *made)
{
	dump_good(&made->raw, made->size);
}

/* ---- sections ---- */

/* Sections without number behind a table of names that has no end, at its beginning. */
static void put_sections(struct made *made, size_t count, size_t names, const Elf64_Shdr *each)
{
	Elf64_Ehdr header = { .e_type = ET_EXEC,
			      .e_machine = EM_X86_64,
			      .e_phoff = sizeof(header),
			      .e_phnum = 1,
			      .e_phentsize = sizeof(Elf64_Phdr),
			      .e_shentsize = sizeof(Elf64_Shdr),
			      .e_shoff = sizeof(header) + sizeof(Elf64_Phdr) + names,
			      .e_shstrndx = 1 };
	Elf64_Phdr segment = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = ELF_FILE_BASE };
	Elf64_Shdr first = { .sh_size = count }, strings = { .sh_type = SHT_STRTAB, .sh_size = names };

	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	strings.sh_offset = sizeof(header) + sizeof(segment);
	segment.p_filesz = segment.p_memsz = header.e_shoff + count * sizeof(first);
	buf_add(&made->raw, &header, sizeof(header));
	buf_add(&made->raw, &segment, sizeof(segment));
	put_fill(&made->raw, 'n', names);
	buf_add(&made->raw, &first, sizeof(first));
	buf_add(&made->raw, &strings, sizeof(strings));
	for (size_t i = 2; i < count; i++)
		buf_add(&made->raw, each, sizeof(*each));
}

static void make_sections(struct made *made)
{
	put_sections(made, made->size / 2 / sizeof(Elf64_Shdr), made->size / 2, &(Elf64_Shdr){ .sh_name = 1 });
}

static void make_nonul(struct made *made)
{
	put_sections(made, 4000, made->size, &(Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_PROGBITS });
}

/* Notes that are all of the file, and tell nothing. */
static void make_notes(struct made *made)
{
	put_sections(made, 4000, 64, &(Elf64_Shdr){ .sh_type = SHT_NOTE, .sh_offset = 1 << 19, .sh_size = made->size });
	put_fill(&made->raw, 0, made->size + (1 << 19));
}

/* ---- symbols ---- */

/* Each name is the rest of one that has hardly an end. */
static void make_overlap(struct made *made)
{
	autobuf struct buf symbols = { 0 }, strings = { 0 };

	add_text(made, made->size / 2);
	put_fill(&strings, 'x', made->size / 4);
	strings.data[0] = 0;
	buf_addc(&strings, 0);
	for (size_t i = 0; symbols.len < made->size / 4; i++)
		add_symbol(&symbols, address_of(made, 1) + i * 16, 16, 1 + i % 1024);
	add_symbols(made, &symbols, &strings);
}

/* All at one address, with names that differ at their end only. */
static void make_symbols(struct made *made)
{
	autobuf struct buf symbols = { 0 }, strings = { 0 };

	add_text(made, made->size / 4);
	buf_addc(&strings, 0);
	for (size_t i = 0; i < 64; i++) {
		put_fill(&strings, '_', 255 - i);
		buf_addc(&strings, 0);
	}
	for (size_t i = 0; symbols.len < made->size * 3 / 4; i++)
		add_symbol(&symbols, address_of(made, 1), made->size / 4, 1 + (i * 7919) % (strings.len - 1));
	add_symbols(made, &symbols, &strings);
}

/* S_, S0_ and so on */
static void put_again(struct buf *out, unsigned int number)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	buf_addc(out, 'S');
	if (number > 36)
		buf_addc(out, digits[(number - 1) / 36]);
	if (number)
		buf_addc(out, digits[(number - 1) % 36]);
	buf_addc(out, '_');
}

/* A name that doubles with each level, in which a pack is looked for that is not there. */
static void put_doubling(struct buf *out, unsigned int levels)
{
	buf_adds(out, "_Z1fI1BI1AS1_E");
	for (unsigned int i = 0; i < levels; i++) {
		buf_adds(out, "S0_I");
		put_again(out, i + 3);
		put_again(out, i + 3);
		buf_addc(out, 'E');
	}
	buf_adds(out, "EDp");
	put_again(out, levels + 3);
	buf_addc(out, 'v');
}

/* One that libiberty would want megabytes of its stack for. */
static void put_room(struct buf *out)
{
	buf_adds(out, "_Z1fIiEv");
	for (unsigned int half = 0; half < 4; half++) {
		buf_adds(out, "PFv");
		for (unsigned int i = 0; i < (half < 2 ? 600 : 400); i++)
			buf_adds(out, half < 2 ? "RT_" : "1BIiE");
		buf_addc(out, 'E');
	}
}

/* One that is parsed twice on each level. */
static void put_retries(struct buf *out, unsigned int levels)
{
	buf_adds(out, "_ZN1AcvT_");
	for (unsigned int i = 0; i < levels; i++)
		buf_adds(out, "IT_");
}

static void make_names(struct made *made)
{
	autobuf struct buf symbols = { 0 }, strings = { 0 };

	add_text(made, made->size / 4);
	buf_addc(&strings, 0);
	for (unsigned int i = 0; strings.len < made->size / 2; i++) {
		add_symbol(&symbols, address_of(made, 1) + i * 1024 % (made->size / 4), 1024, strings.len);
		if (i % 3 == 0)
			put_doubling(&strings, 12 + i % 40);
		else if (i % 3 == 1)
			put_room(&strings);
		else
			put_retries(&strings, 40);
		buf_addf(&strings, ".avx%u", i);
		buf_addc(&strings, 0);
	}
	add_symbols(made, &symbols, &strings);
}

/* Stubs, and sections of relocations that are all the same bytes. */
static void make_relocations(struct made *made)
{
	autobuf struct buf stubs = { 0 }, relocations = { 0 }, strings = { 0 }, symbols = { 0 };
	unsigned int first;

	add_text(made, 16);
	while (stubs.len < made->size / 4) {
		buf_add(&stubs, "\xff\x25", 2);
		buf_u32(&stubs, (uint32_t)stubs.len * 2);
		put_fill(&stubs, 0x90, 10);
	}
	elf_file_add(&made->elf, ".plt", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, stubs.data, stubs.len);
	while (relocations.len < made->size * 3 / 4) {
		Elf64_Rela one = { .r_offset = relocations.len, .r_info = ELF64_R_INFO(1, R_X86_64_JUMP_SLOT) };

		buf_add(&relocations, &one, sizeof(one));
	}
	first = elf_file_add(&made->elf, ".rela.plt", SHT_RELA, SHF_ALLOC, relocations.data, relocations.len);
	for (unsigned int i = 0; i < 8; i++)
		made->elf.sections[elf_file_add(&made->elf, ".rela.dyn", SHT_RELA, SHF_ALLOC, NULL, 0)] =
			made->elf.sections[first];
	put_fill(&strings, 'x', 64);
	add_symbol(&symbols, ELF_FILE_BASE, 1, 1);
	add_symbols(made, &symbols, &strings);
}

/* ---- call frame information ---- */

/* Two CIEs that take turns and do not fit wherever one is kept, each with a program of half the size. */
static void make_cie(struct made *made)
{
	struct frames frames;
	size_t cies[2];
	autobuf struct buf program = { 0 };

	add_text(made, made->size / 8);
	frames = frames_here(made);
	buf_adds(&program, FRAMES_START);
	put_fill(&program, 0, made->size / 4 / 256 * 256 - 17 - program.len); /* so that both have one place */
	for (int i = 0; i < 2; i++) {
		frames_add_cie(&frames, &(struct frames_cie){ 1, "zR", "\x1b", 1, 1, 16, program.data, program.len });
		cies[i] = frames.cie;
	}
	for (size_t i = 0; frames.bytes.len < made->size * 7 / 8; i++) {
		frames.cie = cies[i % 2];
		frames_add_fde(&frames, address_of(made, 1) + i * 4, 4, NULL, 0);
	}
	add_frames(made, &frames);
}

/* One function whose program repeats a few bytes. */
static void make_program(struct made *made, const char *bytes, size_t len)
{
	autobuf struct buf program = { 0 };
	struct frames frames;

	add_text(made, 64);
	frames = frames_here(made);
	frames_add_usual_cie(&frames);
	while (program.len < made->size)
		buf_add(&program, bytes, len);
	frames_add_fde(&frames, address_of(made, 1), made->size, program.data, program.len);
	add_frames(made, &frames);
	put_fill(&made->elf.bytes, 0x90, made->size);
}

static void make_rows(struct made *made)
{
	make_program(made, bytes_of("\x41\x0e\x10\x41\x0e\x18"));
}

static void make_remember(struct made *made)
{
	make_program(made, bytes_of("\x0a\x0b"));
}

static void make_deref(struct made *made)
{
	make_program(made, bytes_of("\x41\x0f\x03\x77\x18\x06\x41\x0f\x06\x77\xd8\x00\x06\x23\x08"));
}

static void make_fdes(struct made *made)
{
	struct frames frames;

	add_text(made, made->size / 8);
	frames = frames_here(made);
	frames_add_usual_cie(&frames);
	for (size_t i = 0; frames.bytes.len < made->size * 7 / 8; i++)
		frames_add_fde(&frames, address_of(made, 1) + (i * 7919) % (made->size / 8), 1, NULL, 0);
	add_frames(made, &frames);
}

static void make_offsets(struct made *made)
{
	struct frames frames;

	add_text(made, 34000 * 8);
	frames = frames_here(made);
	frames_add_usual_cie(&frames);
	for (unsigned int i = 0; i < 34000; i++) {
		char program[] = { 0x0e, (char)(0x80 | (i & 0x7f)), (char)(0x80 | (i >> 7 & 0x7f)),
				   (char)(i >> 14 | 4) };

		frames_add_fde(&frames, address_of(made, 1) + i * 8, 8, program, sizeof(program));
	}
	add_frames(made, &frames);
}

/* Two functions, as far apart as in a file of 2 GiB, which is a hole but for its beginning. */
static void make_sparse(struct made *made)
{
	struct frames frames;

	made->sparse = ((uint64_t)1 << 31) - 4096;
	add_text(made, 4096);
	frames = frames_here(made);
	frames_add_usual_cie(&frames);
	frames_add_fde(&frames, address_of(made, 1), 16, NULL, 0);
	frames_add_fde(&frames, ELF_FILE_BASE + made->sparse - 64, 16, NULL, 0);
	add_frames(made, &frames);
	made->elf.segments[0] = (Elf64_Phdr){ .p_type = PT_LOAD,
					      .p_flags = PF_R | PF_X,
					      .p_vaddr = ELF_FILE_BASE,
					      .p_filesz = made->sparse,
					      .p_memsz = made->sparse };
}

/* Code that is said to be at an offset of 2^40 and more. */
static void make_beyond(struct made *made)
{
	struct frames frames;

	add_text(made, 4096);
	frames = frames_here(made);
	frames_add_usual_cie(&frames);
	for (unsigned int i = 0; i < 64; i++)
		frames_add_fde(&frames, ELF_FILE_BASE + 0x10000000 + i * 16, 16, NULL, 0);
	add_frames(made, &frames);
	made->elf.segments[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = ELF_FILE_BASE };
	made->elf.segments[1] = (Elf64_Phdr){ .p_type = PT_LOAD,
					      .p_flags = PF_R | PF_X,
					      .p_offset = (uint64_t)1 << 40,
					      .p_vaddr = ELF_FILE_BASE + 0x10000000,
					      .p_filesz = 1 << 20,
					      .p_memsz = 1 << 20 };
	made->elf.segments_len = 2;
}

/* ---- Go ---- */

/* Go's files have rows for their C code at least. */
static void add_one_function(struct made *made)
{
	struct frames frames = frames_here(made);

	frames_add_usual_cie(&frames);
	frames_add_fde(&frames, address_of(made, 1), 16, NULL, 0);
	add_frames(made, &frames);
	elf_file_add(&made->elf, ".go.buildinfo", SHT_PROGBITS, SHF_ALLOC, "go", 2);
}

/* A table of 1.2 whose functions all have one name, without an end, and values that never reach their code. */
static void make_go(struct made *made)
{
	const size_t count = made->size / 64, names = 24 + count * 16 + 64, values = names + made->size / 4;
	autobuf struct buf table = { 0 };
	uint64_t text;

	add_text(made, count * 16);
	add_one_function(made);
	text = address_of(made, 1);
	buf_u32(&table, 0xfffffffb);
	buf_add(&table, "\0\0\1\x08", 4);
	buf_u64(&table, count);
	for (size_t i = 0; i < count; i++) {
		buf_u64(&table, text + i * 16);
		buf_u64(&table, 24 + count * 16 + 16);
	}
	buf_u64(&table, text + count * 16);
	buf_u32(&table, (uint32_t)(24 + count * 16)); /* files */
	put_fill(&table, 0, 24 + count * 16 + 16 - table.len);
	buf_u64(&table, text);
	for (unsigned int field = 0; field < 9; field++)
		buf_u32(&table, (uint32_t)(field ? values : names + made->size / 4 - 16000));
	put_fill(&table, 'n', values - table.len);
	while (table.len < made->size)
		buf_add(&table, "\2\0", 2); /* a value one greater, for no code at all */
	elf_file_add(&made->elf, ".gopclntab", SHT_PROGBITS, SHF_ALLOC, table.data, table.len);
}

/* What may be a table at every few bytes, each of which wants a record that is to be looked for everywhere. */
static void make_go_search(struct made *made)
{
	autobuf struct buf data = { 0 };
	unsigned int relocations;

	add_text(made, 64);
	add_one_function(made);
	while (data.len < made->size) {
		buf_u32(&data, 0xfffffff1);
		buf_add(&data, "\0\0\1\x08", 4);
		for (unsigned int word = 1; word < 9; word++)
			buf_u64(&data, word == 1 ? 1 : word == 3 ? 0 : 72);
		put_fill(&data, 0, 24);
	}
	relocations = elf_file_add(&made->elf, ".rela.dyn", SHT_RELA, SHF_ALLOC, data.data, data.len);
	made->elf.segments_len = ELF_FILE_SEGMENTS;
	for (unsigned int i = 0; i < ELF_FILE_SEGMENTS; i++)
		made->elf.segments[i] =
			(Elf64_Phdr){ .p_type = PT_LOAD,
				      .p_flags = i ? PF_R : PF_R | PF_X,
				      .p_vaddr = ELF_FILE_BASE,
				      .p_filesz = made->elf.sections[relocations].sh_offset + data.len };
}

/* ---- compressed ---- */

static void make_xzbomb(struct made *made)
{
	size_t len = 0, most = (size_t)1 << 20;
	const size_t unpacked = (size_t)63 << 20;
	uint8_t *zeros = calloc(1, unpacked), *packed = malloc(most);

	add_text(made, 4096);
	if (!zeros || !packed ||
	    lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, zeros, unpacked, packed, &len, most) != LZMA_OK)
		abort();
	elf_file_add(&made->elf, ".gnu_debugdata", SHT_PROGBITS, 0, packed, len);
	free(zeros);
	free(packed);
}

static void add_bomb(struct made *made, const char *name, size_t unpacked)
{
	uLongf len = compressBound(unpacked);
	Elf64_Chdr head = { .ch_type = ELFCOMPRESS_ZLIB, .ch_size = unpacked, .ch_addralign = 1 };
	unsigned char *zeros = calloc(1, unpacked), *packed = malloc(sizeof(head) + len);

	if (!zeros || !packed || compress2(packed + sizeof(head), &len, zeros, unpacked, 6) != Z_OK)
		abort();
	memcpy(packed, &head, sizeof(head));
	elf_file_add(&made->elf, name, SHT_PROGBITS, SHF_COMPRESSED, packed, sizeof(head) + len);
	free(zeros);
	free(packed);
}

static void make_zbomb(struct made *made)
{
	add_text(made, 4096);
	add_bomb(made, ".debug_frame", (size_t)127 << 20);
}

/* Lines and inlined functions are asked for where a function is known. */
static void add_function(struct made *made)
{
	autobuf struct buf symbols = { 0 };
	struct buf strings = { .data = (char[]){ 0, 'f', 0 }, .len = 3 };

	add_text(made, made->size / 8);
	add_symbol(&symbols, address_of(made, 1), made->size / 8, 1);
	add_symbols(made, &symbols, &strings);
}

static void make_zbomb_info(struct made *made)
{
	add_function(made);
	add_bomb(made, ".debug_info", (size_t)100 << 20);
	add_bomb(made, ".debug_abbrev", (size_t)100 << 20);
	add_bomb(made, ".debug_line", (size_t)100 << 20);
}

/* ---- DWARF ---- */

static void add_dwarf(struct made *made, const struct buf *info, const struct buf *abbreviations)
{
	add_section(made, ".debug_info", info);
	add_section(made, ".debug_abbrev", abbreviations);
}

static void make_units(struct made *made)
{
	autobuf struct buf info = { 0 }, abbreviations = { 0 };

	add_function(made);
	dwarf_units(&info, &abbreviations, made->size);
	add_dwarf(made, &info, &abbreviations);
}

static void make_attributes(struct made *made)
{
	autobuf struct buf info = { 0 }, abbreviations = { 0 };

	add_function(made);
	dwarf_attributes(&info, &abbreviations, address_of(made, 1), made->size);
	add_dwarf(made, &info, &abbreviations);
}

static void make_ranges(struct made *made)
{
	autobuf struct buf info = { 0 }, abbreviations = { 0 }, ranges = { 0 };

	add_function(made);
	dwarf_ranges_of_all(&info, &abbreviations, &ranges, address_of(made, 1), made->size);
	add_dwarf(made, &info, &abbreviations);
	add_section(made, ".debug_ranges", &ranges);
}

static void make_lines(struct made *made, void (*put)(struct buf *lines, size_t size))
{
	autobuf struct buf info = { 0 }, abbreviations = { 0 }, lines = { 0 };
	size_t at;

	add_function(made);
	at = unit_of_all(&info, &abbreviations, address_of(made, 1), made->size);
	put_u16(&info, 0);
	unit_end(&info, at);
	put_fill(&abbreviations, 0, 3);
	put(&lines, made->size);
	add_dwarf(made, &info, &abbreviations);
	add_section(made, ".debug_line", &lines);
}

static void make_directories(struct made *made)
{
	make_lines(made, dwarf_directories);
}

static void make_line_rows(struct made *made)
{
	make_lines(made, dwarf_rows);
}

/* ---- JIT ---- */

static void make_map_newlines(struct made *made)
{
	map_good(&made->raw, 4096);
	put_fill(&made->raw, '\n', made->size);
}

static void make_map_nested(struct made *made)
{
	map_nested(&made->raw, made->size);
}

static void make_map_long(struct made *made)
{
	map_long_lines(&made->raw, made->size);
}

static void make_dump_colliding(struct made *made)
{
	dump_colliding(&made->raw, made->size);
}

static const struct mode {
	const char *name, *asked;
	void (*make)(struct made *made);
	const char *what;
} modes[] = {
	{ "good", "rows,names", make_good, "functions with CFI and symbols" },
	{ "good-map", "jit", make_good_map, "a perf map" },
	{ "good-dump", "jit", make_good_dump, "a jitdump file" },
	{ "sections", "rows,names,lines", make_sections, "sections without number, names without an end" },
	{ "nonul", "rows,names,lines", make_nonul, "4,000 sections, names without an end" },
	{ "notes", "rows,names", make_notes, "notes that overlap" },
	{ "overlap", "names", make_overlap, "names of symbols that are the rest of one" },
	{ "symbols", "names", make_symbols, "symbols at one address" },
	{ "names", "names,lines", make_names, "names that take libiberty for ever" },
	{ "relocations", "names", make_relocations, "stubs, and relocations that overlap" },
	{ "cie", "rows,names", make_cie, "long programs that each function runs again" },
	{ "rows", "rows", make_rows, "a row for each byte of code" },
	{ "remember", "rows", make_remember, "states that are remembered and recalled" },
	{ "deref", "rows", make_deref, "expressions" },
	{ "fdes", "rows,names", make_fdes, "functions of a byte, not in order" },
	{ "offsets34000", "rows", make_offsets, "as many rules" },
	{ "sparse", "rows,names", make_sparse, "two functions in 2 GiB" },
	{ "beyond", "rows", make_beyond, "code beyond 4 GiB" },
	{ "go", "rows,names", make_go, "Go's table, with names and values without an end" },
	{ "go-search", "rows,names", make_go_search, "what may be Go's table everywhere" },
	{ "xzbomb", "names", make_xzbomb, "64 MiB of symbols in 10 KB" },
	{ "zbomb", "rows", make_zbomb, "128 MiB of CFI in 128 KB" },
	{ "zbomb-info", "lines", make_zbomb_info, "300 MiB of DWARF in 300 KB" },
	{ "units", "lines", make_units, "units of a byte" },
	{ "attributes", "lines", make_attributes, "functions with attributes without number" },
	{ "ranges", "lines", make_ranges, "inlined functions with ranges without number" },
	{ "directories", "lines", make_directories, "names of directories without an end" },
	{ "line-rows", "lines", make_line_rows, "a line for each byte of code" },
	{ "map-newlines", "jit", make_map_newlines, "empty lines" },
	{ "map-nested", "jit", make_map_nested, "entries inside each other" },
	{ "map-long", "jit", make_map_long, "lines of half a window" },
	{ "dump-colliding", "jit", make_dump_colliding, "numbers of code that hash to one place" },
};

static int write_file(const struct made *made, const char *path)
{
	const struct buf *bytes = made->raw.len ? &made->raw : &made->elf.bytes;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755), err = 0;

	if (fd < 0 || buf_error(bytes) || write(fd, bytes->data, bytes->len) != (ssize_t)bytes->len ||
	    (made->sparse && ftruncate(fd, (off_t)made->sparse)))
		err = -(errno ? errno : EIO);
	if (fd >= 0)
		close(fd);
	return err;
}

static int make(const struct mode *mode, const char *path, size_t size)
{
	struct made made = { .size = size };
	int err;

	elf_file_begin(&made.elf);
	mode->make(&made);
	if (!made.raw.len)
		elf_file_finish(&made.elf);
	err = write_file(&made, path);
	if (err)
		fprintf(stderr, "hostilelf: %s: %s\n", path, strerror(-err));
	elf_file_free(&made.elf);
	buf_free(&made.raw);
	return err ? 1 : 0;
}

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		if (argc < 3)
			printf("%s %s %s\n", modes[i].name, modes[i].asked, modes[i].what);
		else if (!strcmp(argv[1], modes[i].name))
			return make(&modes[i], argv[2], argc > 3 ? strtoul(argv[3], NULL, 0) : BYTES);
	}
	if (argc >= 3)
		fprintf(stderr, "hostilelf: no mode '%s'\n", argv[1]);
	return argc < 3 ? 0 : 2;
}
