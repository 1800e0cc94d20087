/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter, and what it says. In: terms; a profile. Out: a verdict on each stack, and on each who ran. Each frame is
 * matched once, each node is judged once, from the verdict on its parent, and names are remembered: the cost does not
 * grow with the depth of stacks or the number of samples.
 *
 * What is matched is what people see: texts are escaped as writers escape them, so a name that was read somewhere can
 * be asked for.
 */
#include "profile/judge.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fail.h"
#include "base/text.h"
#include "profile/filter.h"
#include "profile/profile.h"

#define REGEX_ERROR_MAX 128
#define ANY_CASE "(?i)"
#define UNNAMED "[unnamed]"
#define NO_STACK_KIND "no stack"
#define NO_MODULE "-"
#define LEFT (1u << 31) /* of a node: something of its stack is not hidden */

enum answer { UNKNOWN, NO, YES };

struct term {
	struct filter_term what;
	regex_t regex;
	bool compiled;
	uint32_t number;  /* pid or tid that is meant, else 0 */
	size_t name_len;  /* of "NAME (PID)": of the name, */
	uint32_t its_pid; /* and the pid; else 0 */
};

struct filter {
	const struct filter_texts *texts;
	size_t len;
	struct term terms[FILTER_TERMS_MAX];
	uint32_t need, never;          /* bits of terms: of the stack, */
	uint32_t hide;                 /* of its frames, */
	uint32_t modules, kinds, leaf; /* of what was running: one of each, and none */
	uint32_t tasks;
};

/* ---- Terms ---- */

static const char *key_name(const struct filter_term *term)
{
	static const char *const names[] = { "focus", "hide", "module", "kind", "process", "thread" };

	if (term->key == FILTER_FOCUS && term->except)
		return "ignore";
	return term->key == FILTER_LABEL ? term->label : names[term->key];
}

static int compile(struct term *term)
{
	bool any_case = !strncmp(term->what.text, ANY_CASE, strlen(ANY_CASE));
	const char *text = term->what.text + (any_case ? strlen(ANY_CASE) : 0);
	char words[REGEX_ERROR_MAX];
	int err = regcomp(&term->regex, text, REG_EXTENDED | REG_NOSUB | (any_case ? REG_ICASE : 0));

	term->compiled = !err;
	if (!err)
		return 0;
	regerror(err, &term->regex, words, sizeof(words));
	return fail_plain(-EINVAL, "%s '%s': %s", key_name(&term->what), term->what.text, words);
}

static uint32_t number_in(const char *text)
{
	uint64_t number = 0;

	return !text_u64(text, &number) && number <= UINT32_MAX ? (uint32_t)number : 0;
}

/* "NAME (PID)" */
static void split_pid(struct term *term)
{
	const char *open = strrchr(term->what.text, '(');
	size_t len = open ? strlen(open) : 0;
	char digits[16];

	if (len < 3 || len > sizeof(digits) || open[len - 1] != ')' || open - term->what.text < 2 || open[-1] != ' ')
		return;
	memcpy(digits, open + 1, len - 2);
	digits[len - 2] = '\0';
	term->its_pid = number_in(digits);
	term->name_len = (size_t)(open - 1 - term->what.text);
}

static int add_term(struct filter *filter, const struct filter_term *what)
{
	uint32_t bit = 1u << filter->len;
	struct term *term = &filter->terms[filter->len++];

	term->what = *what;
	switch (what->key) {
	case FILTER_FOCUS:
		*(what->except ? &filter->never : &filter->need) |= bit;
		break;
	case FILTER_HIDE:
		filter->hide |= bit;
		break;
	case FILTER_MODULE:
		*(what->except ? &filter->leaf : &filter->modules) |= bit;
		break;
	case FILTER_KIND:
		*(what->except ? &filter->leaf : &filter->kinds) |= bit;
		break;
	default:
		filter->tasks |= bit;
		term->number = what->key == FILTER_LABEL ? 0 : number_in(what->text);
	}
	if (what->key == FILTER_PROCESS && what->exact)
		split_pid(term);
	return what->exact ? 0 : compile(term);
}

int filter_new(struct filter **ret, const struct filter_options *options, const struct filter_texts *texts)
{
	const struct filter_term given[] = {
		{ .key = FILTER_FOCUS, .text = options->focus },
		{ .key = FILTER_FOCUS, .text = options->ignore, .except = true },
		{ .key = FILTER_HIDE, .text = options->hide },
		{ .key = FILTER_PROCESS, .text = options->process },
	};
	struct filter *filter = calloc(1, sizeof(*filter));
	int err = 0;

	if (!filter)
		return fail(-ENOMEM, "filter");
	filter->texts = texts;
	for (size_t i = 0; !err && i < sizeof(given) / sizeof(*given); i++)
		err = given[i].text ? add_term(filter, &given[i]) : 0;
	for (size_t i = 0; !err && i < options->terms_len; i++)
		err = add_term(filter, &options->terms[i]);
	if (err)
		filter_free(filter);
	else
		*ret = filter;
	return err;
}

void filter_free(struct filter *filter)
{
	if (!filter)
		return;
	for (size_t i = 0; i < filter->len; i++)
		if (filter->terms[i].compiled)
			regfree(&filter->terms[i].regex);
	free(filter);
}

bool filter_of_stacks(const struct filter *filter)
{
	return filter && (filter->need | filter->never | filter->hide | filter->modules | filter->kinds | filter->leaf);
}

bool filter_of_tasks(const struct filter *filter)
{
	return filter && filter->tasks;
}

/* ---- Frames and stacks ---- */

static bool matches(const struct term *term, const char *text)
{
	return term->what.exact ? !strcmp(term->what.text, text) : !regexec(&term->regex, text, 0, NULL, 0);
}

static const char *kind_of(const struct profile_frame *frame)
{
	static const char *const kinds[FRAME_KINDS] = { "native", "kernel", "JIT", "vDSO", "inlined", "incomplete" };

	if (frame->kind >= FRAME_KINDS || (!frame->name && frame->kind != FRAME_CUT))
		return "unknown";
	return kinds[frame->kind];
}

static uint32_t match_frame(const struct filter *filter, const char *name, const char *module, const char *kind)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < filter->len; i++) {
		const struct term *term = &filter->terms[i];
		bool yes = false;

		if (term->what.key == FILTER_MODULE)
			yes = matches(term, module);
		else if (term->what.key == FILTER_KIND)
			yes = matches(term, kind);
		else if (name && (term->what.key == FILTER_FOCUS || term->what.key == FILTER_HIDE))
			yes = matches(term, name) || (!term->what.exact && matches(term, module));
		bits |= yes ? 1u << i : 0;
	}
	return bits;
}

static int match_frames(struct judge *judge)
{
	const struct filter *filter = judge->filter;
	const struct profile *profile = judge->profile;
	autobuf struct buf name = { 0 }, module = { 0 };

	judge->no_frame = match_frame(filter, NULL, NO_MODULE, NO_STACK_KIND);
	for (uint32_t i = 1; i < profile_count(profile, PROFILE_FRAMES); i++) {
		buf_clear(&name);
		buf_clear(&module);
		filter->texts->name(profile, i, &name);
		filter->texts->module(profile, i, &module);
		buf_addc(&name, '\0');
		buf_addc(&module, '\0');
		if (buf_error(&name) || buf_error(&module))
			return -ENOMEM;
		judge->frames[i] = match_frame(filter, name.data, module.data, kind_of(profile_frame(profile, i)));
	}
	return 0;
}

int judge_begin(struct judge *judge, const struct filter *filter, const struct profile *profile)
{
	uint32_t nodes = profile_count(profile, PROFILE_NODES);

	*judge = (struct judge){ .filter = filter, .profile = profile };
	if (filter_of_tasks(filter))
		judge->names = calloc(filter->len, profile_count(profile, PROFILE_STRINGS));
	if (filter_of_tasks(filter) && !judge->names)
		return fail(-ENOMEM, "filter");
	if (!filter_of_stacks(filter))
		return 0;
	judge->frames = calloc(profile_count(profile, PROFILE_FRAMES), sizeof(*judge->frames));
	judge->nodes = calloc(nodes, sizeof(*judge->nodes));
	if (!judge->frames || !judge->nodes || match_frames(judge))
		return fail(-ENOMEM, "filter");
	for (uint32_t i = 1; i < nodes; i++) { /* a parent's number is smaller than its node's */
		const struct profile_node *node = profile_node(profile, i);
		uint32_t bits = judge->frames[node->frame];

		judge->nodes[i] = judge->nodes[node->parent] | bits | (bits & filter->hide ? 0 : LEFT);
	}
	return 0;
}

void judge_end(struct judge *judge)
{
	free(judge->frames);
	free(judge->nodes);
	free(judge->names);
	*judge = (struct judge){ 0 };
}

bool judge_stack(const struct judge *judge, uint32_t node)
{
	const struct filter *filter = judge->filter;
	uint32_t bits, leaf;

	if (!judge->nodes)
		return true;
	bits = judge->nodes[node];
	leaf = node ? judge->frames[profile_node(judge->profile, node)->frame] : judge->no_frame;
	if ((bits & filter->need) != filter->need || bits & filter->never || leaf & filter->leaf)
		return false;
	if ((filter->modules && !(leaf & filter->modules)) || (filter->kinds && !(leaf & filter->kinds)))
		return false;
	return !(bits & filter->hide) || bits & LEFT;
}

bool judge_hides(const struct judge *judge, uint32_t frame)
{
	return judge->frames && judge->frames[frame] & judge->filter->hide;
}

/* ---- Who ran ---- */

/* Of memory for the text there is enough, or it is not the one. */
static bool matches_string(const struct judge *judge, const struct term *term, uint32_t string)
{
	bool label = term->what.key == FILTER_LABEL;
	autobuf struct buf text = { 0 };
	size_t len;
	const char *data = profile_text(judge->profile, string, &len);

	if (!string && label)
		buf_addf(&text, "[no %s]", term->what.label);
	else if (!string)
		buf_adds(&text, UNNAMED);
	else
		text_escape(&text, data, len, label ? NULL : ";");
	buf_addc(&text, '\0');
	if (buf_error(&text))
		return false;
	if (matches(term, text.data))
		return true;
	len = text_label_len(text.data, text.len - 1);
	if (!label || len == text.len - 1)
		return false;
	text.data[len] = '\0';
	return matches(term, text.data);
}

static bool is_name(struct judge *judge, size_t number, uint32_t string)
{
	unsigned char *known = &judge->names[number * profile_count(judge->profile, PROFILE_STRINGS) + string];

	if (*known == UNKNOWN)
		*known = matches_string(judge, &judge->filter->terms[number], string) ? YES : NO;
	return *known == YES;
}

static bool is_process(struct judge *judge, size_t number, const struct judge_who *who)
{
	const struct profile_process *process = profile_process(judge->profile, who->process);
	const struct term *term = &judge->filter->terms[number];
	uint32_t comm = who->comm ? who->comm : process->comm;
	const char *name;
	size_t len;

	if ((term->number && process->pid == term->number) || is_name(judge, number, comm) ||
	    (process->comm && is_name(judge, number, process->comm)))
		return true;
	if (!term->its_pid || term->its_pid != process->pid)
		return false;
	name = profile_text(judge->profile, comm, &len);
	return len == term->name_len && !memcmp(name, term->what.text, len);
}

static bool is_thread(const struct judge *judge, const struct term *term, const struct judge_who *who)
{
	const struct profile_process *process = profile_process(judge->profile, who->process);
	uint32_t comm = who->comm ? who->comm : process->comm;
	autobuf struct buf text = { 0 };
	size_t len;
	const char *name = profile_text(judge->profile, comm, &len);

	if (term->number && term->number == who->tid)
		return true;
	if (comm)
		text_escape(&text, name, len, ";");
	else
		buf_adds(&text, UNNAMED);
	buf_addf(&text, " (%u/", process->pid);
	if (who->tid)
		buf_addf(&text, "%u)", who->tid);
	else
		buf_adds(&text, "-)");
	buf_addc(&text, '\0');
	return !buf_error(&text) && matches(term, text.data);
}

static uint32_t label_value(const struct profile *profile, uint32_t set, const char *label)
{
	for (unsigned int i = 0; set && i < PROFILE_LABELS_MAX; i++) {
		uint32_t key, value;

		profile_label(profile, set, &set, &key, &value);
		if (!strcmp(profile_text(profile, key, NULL), label))
			return value;
	}
	return PROFILE_NONE;
}

static bool is_meant(struct judge *judge, size_t number, const struct judge_who *who)
{
	const struct term *term = &judge->filter->terms[number];

	switch (term->what.key) {
	case FILTER_PROCESS:
		return is_process(judge, number, who);
	case FILTER_THREAD:
		return is_thread(judge, term, who);
	default:
		return is_name(judge, number, label_value(judge->profile, who->labels, term->what.label));
	}
}

static bool is_alike(const struct filter_term *one, const struct filter_term *other)
{
	return !other->except && one->key == other->key &&
	       (one->key != FILTER_LABEL || !strcmp(one->label, other->label));
}

bool judge_who(struct judge *judge, const struct judge_who *who)
{
	const struct filter *filter = judge->filter;

	for (size_t i = 0; filter->tasks && i < filter->len; i++) {
		const struct filter_term *what = &filter->terms[i].what;
		bool yes;

		if (!(filter->tasks & 1u << i))
			continue;
		yes = is_meant(judge, i, who);
		for (size_t k = 0; !yes && !what->except && k < filter->len; k++)
			yes = is_alike(what, &filter->terms[k].what) && is_meant(judge, k, who);
		if (yes == what->except)
			return false;
	}
	return true;
}
