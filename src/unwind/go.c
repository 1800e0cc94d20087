/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Go's call frame information follows the stack pointer alone. Two things are known beyond that. A function that has
 * a frame keeps its caller's frame pointer right below the return address. And the few functions of the runtime that
 * go on on the stack of the thread (systemstack, asmcgocall, mcall) keep the frame pointer while they do: it leads back
 * to the stack of the goroutine. mcall clears it, for it never returns; mstart begins a thread.
 */
#include "unwind/go.h"

#include "bpf/wire.h"
#include "elf/cfi.h"
#include "elf/gopclntab.h"
#include "elf/image.h"

#define PROLOGUE 4 /* push %rbp; mov %rsp, %rbp */
#define PUSHED 1

/* Those that go on on another stack, and after them the one that nothing calls. */
static const char *const runtime[] = { "runtime.systemstack", "runtime.asmcgocall", "runtime.mcall", "runtime.mstart" };

#define RUNTIME (sizeof(runtime) / sizeof(runtime[0]))

static void add_ranges(struct go *go, const struct gopclntab *table)
{
	struct gopclntab_range found;
	uint64_t at = 0;

	while (go->len < GO_RANGES && gopclntab_named(table, runtime, RUNTIME, &at, &found))
		go->ranges[go->len++] = (struct go_range){ found.start, found.end, found.name == RUNTIME - 1 };
}

void go_open(struct go *ret, const struct image *image)
{
	struct image_section section;
	struct gopclntab *table = NULL;

	*ret = (struct go){ .is = image_section_named(image, ".go.buildinfo", &section) ||
				  image_section_named(image, ".note.go.buildid", &section) };
	if (ret->is && !gopclntab_open(&table, image))
		add_ranges(ret, table);
	gopclntab_free(table);
}

static const struct go_range *range_of(const struct go *go, uint64_t address)
{
	for (size_t i = 0; i < go->len; i++)
		if (address >= go->ranges[i].start && address < go->ranges[i].end)
			return &go->ranges[i];
	return NULL;
}

void go_adjust(const struct go *go, uint64_t address, struct wire_rule *rule)
{
	const struct go_range *range = range_of(go, address);

	if (range && range->root)
		rule->kind = WIRE_RULE_ROOT;
	if (!go->is || rule->kind != WIRE_RULE_REGISTER || rule->reg != CFI_SP || rule->offset < 16 ||
	    rule->saves[WIRE_SAVE_FP] != WIRE_NOT_SAVED)
		return;
	rule->saves[WIRE_SAVE_FP] = -16;
	if (!range || address < range->start + PROLOGUE)
		return;
	rule->reg = CFI_FP;
	rule->offset = 16;
	rule->flags |= WIRE_RULE_SWITCHES;
}

uint64_t go_splits(const struct go *go, uint64_t address)
{
	const struct go_range *range = range_of(go, address);

	return range && address == range->start + PUSHED ? range->start + PROLOGUE : 0;
}
