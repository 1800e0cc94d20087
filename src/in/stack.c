/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks, kinds of frames and types of values, for readers of text. In: frames in the order of the lines, leaf first.
 * Out: nodes of the profile. Invariant: last_nodes[i] is the node of last_frames[0..i], so the part that two
 * consecutive stacks share is not looked up again.
 */
#include "in/stack.h"

#include <errno.h>
#include <stdlib.h>

#include "base/fail.h"
#include "in/in.h"
#include "profile/bulk.h"
#include "profile/profile.h"

int stack_init(struct stack *stack)
{
	stack->frames = malloc(STACK_DEPTH_MAX * sizeof(*stack->frames));
	stack->last_frames = malloc(STACK_DEPTH_MAX * sizeof(*stack->last_frames));
	stack->last_nodes = malloc(STACK_DEPTH_MAX * sizeof(*stack->last_nodes));
	return stack->frames && stack->last_frames && stack->last_nodes ? 0 : -ENOMEM;
}

void stack_free(struct stack *stack)
{
	free(stack->frames);
	free(stack->last_frames);
	free(stack->last_nodes);
	*stack = (struct stack){ 0 };
}

int stack_push(struct stack *stack, uint32_t frame)
{
	if (frame == PROFILE_FULL)
		return -ENOMEM;
	if (stack->depth == STACK_DEPTH_MAX)
		return -E2BIG;
	stack->frames[stack->depth++] = frame;
	return 0;
}

uint32_t stack_node(struct stack *stack, struct profile *profile)
{
	uint32_t node = PROFILE_NONE;
	size_t depth = stack->depth, same = 0;

	while (same < depth && same < stack->last_depth && stack->last_frames[same] == stack->frames[depth - 1 - same])
		same++;
	if (same)
		node = stack->last_nodes[same - 1];
	for (size_t i = same; i < depth && node != PROFILE_FULL; i++) {
		node = profile_add_node(profile, node, stack->frames[depth - 1 - i]);
		stack->last_frames[i] = stack->frames[depth - 1 - i];
		stack->last_nodes[i] = node;
	}
	stack->last_depth = node == PROFILE_FULL ? 0 : depth;
	stack->depth = 0;
	return node;
}

int stack_gather(struct stack *stack, struct bulk *bulk)
{
	size_t depth = stack->depth, same = 0;
	int err;

	while (same < depth && same < stack->last_depth && stack->last_frames[same] == stack->frames[depth - 1 - same])
		same++;
	err = bulk_begin(bulk, same);
	for (size_t i = same; i < depth && !err; i++) {
		stack->last_frames[i] = stack->frames[depth - 1 - i];
		err = bulk_frame(bulk, stack->last_frames[i]);
	}
	stack->last_depth = err ? 0 : depth;
	stack->depth = 0;
	return err;
}

void stack_forecast(struct stack_forecast *forecast, struct profile *profile, double share)
{
	double count, growth, when = forecast->asked ? 1.0 / 16 : 1.0 / 32;

	if (forecast->asked > 1 || share < when)
		return;
	if (share > 1.5 * when) { /* so little is there that it is read in a few steps */
		forecast->asked = 2;
		return;
	}
	count = profile_count(profile, PROFILE_NODES);
	growth = forecast->asked ? count / forecast->early : 0;
	forecast->asked++;
	forecast->early = count;
	if (growth < 1 || growth > 2)
		return;
	count *= growth * growth * growth * growth;
	if (count < (double)(UINT32_MAX / 2))
		profile_expect_nodes(profile, (uint32_t)count);
}

/* perf's map of a runtime's code: /tmp/perf-PID.map. */
static bool is_perf_map(struct span module)
{
	return span_ends(module, ".map") && memmem(module.data, module.len, "/perf-", 6);
}

uint32_t stack_kind(struct span module, uint64_t address)
{
	if (address >= STACK_KERNEL_ADDRESS)
		return FRAME_KERNEL;
	if (span_begins(module, "[vdso]") || span_begins(module, "[vsyscall]") || span_begins(module, "linux-vdso"))
		return FRAME_VDSO;
	if (is_perf_map(module) || span_begins(module, "//anon") || span_begins(module, "anon_inode:") ||
	    span_is(module, "[jit]") || span_begins(module, "[anon:") || span_begins(module, "jitted-"))
		return FRAME_JIT;
	if (span_begins(module, "[unknown]") || span_begins(module, "[heap]") || span_begins(module, "[stack"))
		return FRAME_USER;
	if (span_begins(module, "[") || span_ends(module, ".ko") || span_ends(module, ".ko.xz") ||
	    span_ends(module, ".ko.zst") || span_ends(module, "/vmlinux"))
		return FRAME_KERNEL;
	return FRAME_USER;
}

bool stack_is_kernel_root(struct span symbol)
{
	static const char *const roots[] = { "entry_",
					     "asm_",
					     "ret_from_fork",
					     "secondary_startup",
					     "do_syscall_",
					     "x64_sys_call",
					     "el0t_",
					     "el0_",
					     "start_kernel",
					     "common_startup_",
					     "cpu_startup_entry",
					     "kthread+",
					     "__do_softirq",
					     "handle_softirqs",
					     "ret_fast_syscall",
					     "vectors" };

	for (size_t i = 0; i < sizeof(roots) / sizeof(*roots); i++)
		if (span_begins(symbol, roots[i]))
			return true;
	return false;
}

uint32_t stack_kind_at(struct span module, uint64_t address)
{
	if (address >= STACK_KERNEL_ADDRESS || !span_begins(module, "["))
		return stack_kind(module, address);
	if (span_begins(module, "[kernel.") || span_begins(module, "[guest.kernel") || span_is(module, "[kernel]"))
		return FRAME_KERNEL;
	return span_is(module, "[vdso]") || span_is(module, "[jit]") ? stack_kind(module, address) : FRAME_USER;
}

static bool is_escape(struct span text, size_t at)
{
	return text.len - at >= 4 && text.data[at] == '\\' && text.data[at + 1] == 'x' &&
	       span_hex_digit(text.data[at + 2]) >= 0 && span_hex_digit(text.data[at + 3]) >= 0;
}

uint32_t stack_unescape(struct profile *profile, struct span text, struct buf *scratch)
{
	if (!text.len || !memchr(text.data, '\\', text.len))
		return profile_bytes(profile, text.data, text.len);
	buf_clear(scratch);
	for (size_t i = 0; i < text.len; i++) {
		if (is_escape(text, i)) {
			buf_addc(scratch,
				 (char)(span_hex_digit(text.data[i + 2]) << 4 | span_hex_digit(text.data[i + 3])));
			i += 3;
		} else {
			buf_addc(scratch, text.data[i]);
		}
	}
	return buf_error(scratch) ? PROFILE_FULL : profile_bytes(profile, scratch->data, scratch->len);
}

uint32_t stack_file(struct profile *profile, struct span module, uint32_t kind)
{
	struct profile_file file = { 0 };

	if (kind == FRAME_JIT || kind == FRAME_VDSO || kind == FRAME_CUT || !module.len || span_is(module, "[unknown]"))
		return PROFILE_NONE;
	if (kind == FRAME_KERNEL && (span_begins(module, "[kernel") || span_begins(module, "[guest.kernel")))
		return PROFILE_NONE;
	if (kind == FRAME_KERNEL && span_begins(module, "[") && span_ends(module, "]"))
		module = (struct span){ module.data + 1, module.len - 2 };
	file.path = profile_bytes(profile, module.data, module.len);
	return profile_add_file(profile, &file);
}

/* Takes the mark of its kind off a name. */
static uint32_t take_kind(struct span *name, uint32_t kind)
{
	static const struct {
		const char *suffix;
		enum frame_kind kind;
	} kinds[] = { { "_[k]", FRAME_KERNEL }, { "_[j]", FRAME_JIT }, { "_[i]", FRAME_INLINE } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (span_ends(*name, kinds[i].suffix) && name->len > strlen(kinds[i].suffix)) {
			name->len -= strlen(kinds[i].suffix);
			return kinds[i].kind;
		}
	return kind;
}

bool stack_take_cut(struct span *name)
{
	static const char begin[] = "[incomplete: ";

	if (!span_begins(*name, begin) || !span_ends(*name, "]") || name->len == strlen(begin) + 1)
		return false;
	*name = (struct span){ name->data + strlen(begin), name->len - strlen(begin) - 1 };
	return true;
}

uint32_t stack_named_frame(struct profile *profile, struct span name, struct span module,
			   const struct profile_source *source, bool plain, struct buf *scratch)
{
	struct profile_frame frame = { .kind = span_begins(module, "[vdso]") ? FRAME_VDSO : FRAME_USER,
				       .source = *source };

	if (!plain)
		frame.kind = take_kind(&name, frame.kind);
	if (!plain && frame.kind == FRAME_USER && !module.len && stack_take_cut(&name))
		frame.kind = FRAME_CUT;
	frame.file = stack_file(profile, module, frame.kind);
	frame.name = stack_unescape(profile, name, scratch);
	return profile_add_frame(profile, &frame);
}

uint32_t stack_process_named(struct profile *profile, uint32_t comm)
{
	uint32_t number = comm == PROFILE_FULL ? PROFILE_FULL : profile_add_process(profile, 0, (uint64_t)comm + 1);

	if (number != PROFILE_FULL)
		profile_process(profile, number)->comm = comm;
	return number;
}

int stack_owner(struct profile *profile, uint32_t name, uint32_t *ret_comm, uint32_t *ret_process)
{
	const char *text = profile_text(profile, name, NULL);

	*ret_comm = *ret_process = PROFILE_NONE; /* the first may be where the name was */
	if (name == PROFILE_FULL)
		return -ENOMEM;
	if (!strcmp(text, "[nobody]"))
		return 0;
	*ret_comm = strcmp(text, "[unnamed]") ? name : PROFILE_NONE;
	*ret_process = stack_process_named(profile, *ret_comm);
	return *ret_process == PROFILE_FULL ? -ENOMEM : 0;
}

static bool is_wanted(const char *wanted, struct span name)
{
	size_t len = strlen(wanted);

	return span_begins(name, wanted) && (name.len == len || name.data[len] == ':');
}

bool stack_type(struct stack_types *types, struct profile *profile, struct span name)
{
	struct span chosen = { .data = profile_text(profile, types->chosen, &chosen.len) };
	uint32_t number;
	size_t at = 0;

	if (types->chosen && span_equal(chosen, name))
		return true;
	number = profile_bytes(profile, name.data, name.len);
	while (at < types->len && types->names[at] != number)
		at++;
	if (at == types->len && at < STACK_TYPES_MAX && number != PROFILE_FULL)
		types->names[types->len++] = number;
	if (types->chosen || (types->wanted && !is_wanted(types->wanted, name)))
		return false;
	types->chosen = number;
	return true;
}

int stack_types_end(struct stack_types *types, struct profile *profile, struct in_request *request)
{
	autobuf struct buf others = { 0 };

	for (size_t i = 0; i < types->len; i++)
		if (types->names[i] != types->chosen)
			buf_addf(&others, "%s%s", others.len ? ", " : "", profile_text(profile, types->names[i], NULL));
	if (buf_error(&others))
		return buf_error(&others);
	if (types->wanted && !types->chosen) {
		fail_plain(-EINVAL, "--type: '%s' is not in it", types->wanted);
		return fail_hint(-EINVAL, "it has %s", others.len ? others.data : "one kind of values only");
	}
	if (others.len && !types->wanted && !request->notes.len)
		in_note_types(request, profile_text(profile, types->chosen, NULL), others.data);
	return 0;
}
