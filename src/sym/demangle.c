/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Demangling through libiberty. In: a symbol's name as it stands in a file of anybody's making. Out: the name for
 * people, and what it cost. Invariant: at most NAME_MAX_LEN bytes are appended, and time and stack are bounded by the
 * length of the name, whatever it says: a few hundred bytes can describe a name longer than memory. No more of it is
 * printed than is kept.
 */
#include "sym/demangle.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "sym/cplus.h"

#define NAME_MAX_LEN ((size_t)16 << 10)
#define CUT "\xe2\x80\xa6" /* … */
#define CPLUS_MAX 8192
#define RUST_MAX 16384
#define D_MAX 2048
#define D_WORK_MAX (1u << 20)
#define PIECES_MAX (2 * NAME_MAX_LEN) /* that one name may be printed in; empty ones are printed as well */
#define SUFFIXES_MAX 8
#define STEPS_PER_BYTE 2

/* A name on its way. */
struct job {
	struct buf *out;
	bool full;
	uint64_t steps;
};

/* Takes the pieces of a name. When there are enough, leaves the demangler by the way it was entered. */
struct printer {
	struct buf *out;
	size_t len;
	unsigned int pieces;
	void *memory; /* that it needs meanwhile */
	jmp_buf enough;
};

static void print_piece(const char *piece, size_t len, void *opaque)
{
	struct printer *printer = opaque;

	buf_add(printer->out, piece, len > NAME_MAX_LEN ? NAME_MAX_LEN : len);
	printer->len += len;
	if (printer->len > NAME_MAX_LEN || ++printer->pieces > PIECES_MAX)
		longjmp(printer->enough, 1);
}

static bool demangle_cplus(struct job *job, const char *name, size_t len, bool full)
{
	struct printer printer = { .out = job->out };
	volatile bool good = true;

	if (!setjmp(printer.enough))
		good = cplus_print(name, len, full, print_piece, &printer, &printer.memory, &job->steps);
	free(printer.memory);
	return good && printer.len;
}

/* The offset in a thunk's name: h or v, and one number or two, each ended by a bar. Its length; 0 if it is none. */
static size_t call_offset(const char *text)
{
	size_t at = 1;

	if (text[0] != 'h' && text[0] != 'v')
		return 0;
	for (int i = 0; i < (text[0] == 'v' ? 2 : 1); i++) {
		at += text[at] == 'n';
		while (isdigit((unsigned char)text[at]))
			at++;
		if (text[at++] != '_')
			return 0;
	}
	return at;
}

/* libiberty leaves parameters out of a function's name, but not out of a thunk's to that function. */
static bool demangle_thunk(struct job *job, const char *name, size_t len)
{
	static const char before[] = "_Z";
	size_t at = strlen("_ZT");
	char copy[CPLUS_MAX + 1];

	if (strncmp(name, "_ZT", at) || len > CPLUS_MAX || (name[at] != 'h' && name[at] != 'v' && name[at] != 'c'))
		return false;
	buf_adds(job->out, name[at] == 'h'   ? "non-virtual thunk to "
			   : name[at] == 'v' ? "virtual thunk to "
					     : "covariant return thunk to ");
	if (name[at] == 'c') {
		size_t first = call_offset(name + ++at);

		at += first;
		if (!first)
			return false;
	}
	at += call_offset(name + at) - strlen(before);
	if (at < strlen("_ZT"))
		return false;
	memcpy(copy, name + at, len - at + 1);
	memcpy(copy, before, strlen(before));
	return demangle_cplus(job, copy, len - at, false);
}

static bool demangle_rust(struct job *job, const char *name, size_t len)
{
	struct printer printer = { .out = job->out };

	if (len > RUST_MAX)
		return false;
	if (setjmp(printer.enough))
		return true;
	return rust_demangle_callback(name, job->full ? DMGL_VERBOSE : 0, print_piece, &printer) && printer.len;
}

/*
 * No more than the work that a D name can ask for: each of its back references, a 'Q' and a number in base 26 that ends
 * in a small letter, may stand for all that is between its target and itself.
 */
static bool d_is_cheap(const char *name, size_t len, uint64_t *steps)
{
	uint32_t work[D_MAX + 1];

	work[0] = 0;
	for (size_t i = 0; i < len; i++) {
		size_t distance = 0, at = i + 1;

		work[i + 1] = work[i] + 1;
		if (name[i] != 'Q')
			continue;
		while (at < len && name[at] >= 'A' && name[at] <= 'Z' && distance <= len)
			distance = distance * 26 + (size_t)(name[at++] - 'A');
		if (at < len && name[at] >= 'a' && name[at] <= 'z')
			distance = distance * 26 + (size_t)(name[at] - 'a');
		if (distance && distance <= i)
			work[i + 1] += work[i] - work[i - distance];
		if (work[i + 1] > D_WORK_MAX)
			return false;
	}
	*steps += work[len];
	return true;
}

/* D has no way to leave out parameters: cut where the last list of them begins. */
static size_t d_short_len(const char *name)
{
	size_t len = strlen(name), depth = 0, at = len;

	if (!len || name[len - 1] != ')')
		return len;
	while (at--) {
		if (name[at] == ')')
			depth++;
		else if (name[at] == '(' && !--depth)
			return at ? at : len;
	}
	return len;
}

static bool demangle_d(struct job *job, const char *name, size_t len)
{
	char *text = len <= D_MAX && d_is_cheap(name, len, &job->steps) ? dlang_demangle(name, 0) : NULL;
	size_t shown;

	if (!text)
		return false;
	shown = job->full ? strlen(text) : d_short_len(text);
	buf_add(job->out, text, shown > NAME_MAX_LEN ? NAME_MAX_LEN + 1 : shown);
	free(text);
	return shown > 0;
}

/* Does it end in E after 17h and sixteen hexadecimal digits? C++ would take it too, with the hash as a name. */
static bool is_old_rust(const char *name, size_t len)
{
	if (len < 24 || strncmp(name, "_ZN", 3) || name[len - 1] != 'E' || memcmp(name + len - 20, "17h", 3))
		return false;
	for (size_t i = len - 17; i < len - 1; i++)
		if (!isxdigit((unsigned char)name[i]))
			return false;
	return true;
}

/* Back to where it was: the beginning of a name that came to no good end. */
static void take_back(struct buf *out, size_t len)
{
	if (out->len > len) {
		out->len = len;
		out->data[len] = '\0';
	}
}

static bool demangle_any(struct job *job, const char *name, size_t len)
{
	size_t before = job->out->len;

	if (len < 3 || name[0] != '_')
		return false;
	switch (name[1]) {
	case 'R':
		return demangle_rust(job, name, len);
	case 'Z':
		if (is_old_rust(name, len) && demangle_rust(job, name, len))
			return true;
		take_back(job->out, before);
		if (!job->full && demangle_thunk(job, name, len))
			return true;
		take_back(job->out, before);
		return demangle_cplus(job, name, len, job->full);
	case 'D':
		return demangle_d(job, name, len);
	default:
		return false;
	}
}

/* ---- what compilers add ---- */

static bool all_digits(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isdigit((unsigned char)text[i]))
			return false;
	return len > 0;
}

static bool is_part(const char *text, size_t len)
{
	static const char *const parts[] = { "cold",  "part",     "isra",       "constprop",  "llvm",
					     "clone", "lto_priv", "localalias", "specialized" };

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (len == strlen(parts[i]) && !memcmp(text, parts[i], len))
			return true;
	return false;
}

/* The dot before the last word of name[0..len); 0 if there is none. */
static size_t last_dot(const char *name, size_t len)
{
	const char *dot = len ? memrchr(name, '.', len) : NULL;

	return dot ? (size_t)(dot - name) : 0;
}

/* The length without .part and .part.N for all words that compilers use for parts of a function. */
static size_t fold(const char *name, size_t len)
{
	for (unsigned int i = 0; i < SUFFIXES_MAX; i++) {
		size_t dot = last_dot(name, len), before = last_dot(name, dot);

		if (dot && is_part(name + dot + 1, len - dot - 1))
			len = dot;
		else if (before && all_digits(name + dot + 1, len - dot - 1) &&
			 is_part(name + before + 1, dot - before - 1))
			len = before;
		else
			break;
	}
	return len;
}

/* Cuts what was appended since `from` to the limit, at the border of a character. */
static void limit(struct buf *out, size_t from)
{
	size_t len = from + NAME_MAX_LEN - strlen(CUT);

	if (out->len - from <= NAME_MAX_LEN)
		return;
	while (len > from && ((unsigned char)out->data[len] & 0xc0) == 0x80)
		len--;
	out->len = len;
	buf_adds(out, CUT);
}

/* name[0..len) without what compilers add; false if it is not mangled, or not rightly. */
static bool demangle_part(struct job *job, const char *name, size_t len)
{
	size_t before = job->out->len, mangled = len;
	char copy[NAME_MAX_LEN + 1];
	const char *dot = NULL;

	/* What a compiler added and that is another function, such as .avx2, stays beside the name. */
	if ((!strncmp(name, "_Z", 2) && !is_old_rust(name, len)) || !strncmp(name, "_R", 2))
		dot = memchr(name, '.', len);
	if (dot)
		mangled = (size_t)(dot - name);
	memcpy(copy, name, mangled);
	copy[mangled] = '\0';
	if (!demangle_any(job, copy, mangled)) {
		take_back(job->out, before);
		return false;
	}
	if (dot)
		buf_addf(job->out, " [clone %.*s]", (int)(len - mangled), dot);
	return true;
}

uint64_t demangle(struct buf *out, const char *name, enum symbols_demangle mode)
{
	size_t before = out->len, len = strnlen(name, NAME_MAX_LEN + 1);
	struct job job = { .out = out, .full = mode == DEMANGLE_FULL };

	if (mode != DEMANGLE_NO && len <= NAME_MAX_LEN)
		len = fold(name, len);
	if (mode == DEMANGLE_NO || len > NAME_MAX_LEN || !demangle_part(&job, name, len))
		buf_add(out, name, len);
	job.steps += (len + (out->len - before)) * STEPS_PER_BYTE;
	limit(out, before);
	return job.steps;
}
