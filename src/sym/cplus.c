/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges what it would cost libiberty to print a C++ name, and prints it if that is little. In: names of anybody's
 * making. A name may say "as before" of a part of itself again and again, so that branches of its tree are shared;
 * libiberty goes down each of them each time, in places without printing anything, and makes arrays on the stack whose
 * size is a product. So a name that does this more than a few times is parsed into its tree, and that is weighed first:
 * how many nodes it would have if nothing were shared. Invariant: printing takes at most CPLUS_STEPS_MAX steps beside
 * those that print something, and ROOM_MAX elements of the stack.
 */
#include "sym/cplus.h"

#include <stdlib.h>
#include <string.h>

/*
 * libiberty's own limit on recursion also refuses names of 1,024 bytes and more, which C++ programs do have. Above
 * that, the length itself is the limit: 8 KiB of the deepest nesting take less than 2 MB of stack.
 */
#define GUARDED_MAX 1000
#define NAME_MAX_LEN 8192
#define SCOPES_MAX 16       /* templates around each other, each of which parameters may refer to */
#define ROOM_MAX (1u << 17) /* elements of libiberty's array of templates, sixteen bytes each */
#define NODES_PER_BYTE 2    /* of a name: as many as libiberty allocates */
#define RETRIES_MAX 8       /* each of which makes parsing take twice as long */
#define WALKED_MAX 4096     /* in one argument of a template */

/* What printing a node takes, where nothing is printed: nodes that are visited, and of those for packs in vain. */
struct weight {
	uint32_t nodes; /* 0: not known yet */
	uint32_t walked;
};

struct scale {
	const struct demangle_component *nodes; /* as libiberty has them: one array */
	size_t len;
	struct weight *weights;   /* of them */
	uint32_t pack, next_pack; /* the heaviest that a parameter may stand for: without and with those inside it */
	uint32_t argument;        /* the most that is walked in what a parameter may stand for */
	unsigned int scopes;      /* functions, which may be templates */
	unsigned int templates, refs; /* what libiberty's array is made for */
	bool packs;
};

static const struct weight too_heavy = { CPLUS_STEPS_MAX + 1, CPLUS_STEPS_MAX + 1 };

static uint32_t add(uint64_t a, uint64_t b)
{
	return a + b > CPLUS_STEPS_MAX ? CPLUS_STEPS_MAX + 1 : (uint32_t)(a + b);
}

static bool is_type(const struct demangle_component *node, enum demangle_component_type type)
{
	return node && node->type == type;
}

static struct weight weigh(struct scale *scale, const struct demangle_component *node);

static struct weight weigh_one(struct scale *scale, const struct demangle_component *node)
{
	struct weight weight = weigh(scale, node);

	weight.nodes = add(1, weight.nodes);
	return weight;
}

static struct weight weigh_pair(struct scale *scale, const struct demangle_component *node)
{
	struct weight left = weigh(scale, node->u.s_binary.left), right = weigh(scale, node->u.s_binary.right);

	return (struct weight){ add(1, add(left.nodes, right.nodes)), add(left.walked, right.walked) };
}

/* What it stands for prints something, unless it is a pack; its number is counted off. */
static struct weight weigh_parameter(const struct scale *scale, const struct demangle_component *node)
{
	long number = node->u.s_number.number;

	return (struct weight){ .nodes = add(1 + (uint64_t)scale->pack,
					     number >= 0 && number < CPLUS_STEPS_MAX ? (uint64_t)number : 0) };
}

/* The pack is looked for in all that is below, and counted. */
static struct weight weigh_expansion(struct scale *scale, const struct demangle_component *node)
{
	struct weight weight = weigh_pair(scale, node);

	scale->packs = true;
	weight.walked = add(weight.walked, add(weight.nodes, scale->pack));
	return weight;
}

static struct weight weigh_argument(struct scale *scale, const struct demangle_component *node)
{
	const struct demangle_component *left = node->u.s_binary.left;
	struct weight weight = weigh_pair(scale, node);

	if (is_type(left, DEMANGLE_COMPONENT_TEMPLATE_ARGLIST)) {
		uint32_t pack = weigh(scale, left).nodes;

		scale->packs = true;
		scale->next_pack = pack > scale->next_pack ? pack : scale->next_pack;
	}
	scale->argument = weight.walked > scale->argument ? weight.walked : scale->argument;
	return weight;
}

static struct weight weigh_children(struct scale *scale, const struct demangle_component *node)
{
	switch (node->type) {
	case DEMANGLE_COMPONENT_NAME:
	case DEMANGLE_COMPONENT_SUB_STD:
	case DEMANGLE_COMPONENT_BUILTIN_TYPE:
	case DEMANGLE_COMPONENT_EXTENDED_BUILTIN_TYPE:
	case DEMANGLE_COMPONENT_OPERATOR:
	case DEMANGLE_COMPONENT_CHARACTER:
	case DEMANGLE_COMPONENT_NUMBER:
	case DEMANGLE_COMPONENT_FUNCTION_PARAM:
		return (struct weight){ .nodes = 1 };
	case DEMANGLE_COMPONENT_TEMPLATE_PARAM:
		return weigh_parameter(scale, node);
	case DEMANGLE_COMPONENT_EXTENDED_OPERATOR:
		return weigh_one(scale, node->u.s_extended_operator.name);
	case DEMANGLE_COMPONENT_FIXED_TYPE:
		return weigh_one(scale, node->u.s_fixed.length);
	case DEMANGLE_COMPONENT_CTOR:
		return weigh_one(scale, node->u.s_ctor.name);
	case DEMANGLE_COMPONENT_DTOR:
		return weigh_one(scale, node->u.s_dtor.name);
	case DEMANGLE_COMPONENT_LAMBDA:
	case DEMANGLE_COMPONENT_UNNAMED_TYPE:
	case DEMANGLE_COMPONENT_DEFAULT_ARG:
		return weigh_one(scale, node->u.s_unary_num.sub);
	case DEMANGLE_COMPONENT_TEMPLATE_ARGLIST:
		return weigh_argument(scale, node);
	case DEMANGLE_COMPONENT_PACK_EXPANSION:
	case DEMANGLE_COMPONENT_UNARY: /* may be sizeof... */
		return weigh_expansion(scale, node);
	case DEMANGLE_COMPONENT_TEMPLATE:
		scale->templates++;
		return weigh_pair(scale, node);
	case DEMANGLE_COMPONENT_TYPED_NAME:
		scale->scopes++;
		return weigh_pair(scale, node);
	case DEMANGLE_COMPONENT_REFERENCE:
	case DEMANGLE_COMPONENT_RVALUE_REFERENCE:
		scale->refs += is_type(node->u.s_binary.left, DEMANGLE_COMPONENT_TEMPLATE_PARAM);
		return weigh_pair(scale, node);
	default: /* all others have two branches, or one and NULL */
		return weigh_pair(scale, node);
	}
}

static struct weight weigh(struct scale *scale, const struct demangle_component *node)
{
	size_t at = node ? (size_t)(node - scale->nodes) : 0;

	if (!node)
		return (struct weight){ 0 };
	if (node < scale->nodes || at >= scale->len)
		return too_heavy;
	if (!scale->weights[at].nodes) {
		scale->weights[at] = too_heavy; /* for whoever comes back here on the way down: a circle */
		scale->weights[at] = weigh_children(scale, node);
	}
	return scale->weights[at];
}

/* In a pack there may be parameters of the templates around: again for each of them, until it makes no difference. */
static struct weight weigh_tree(struct scale *scale, const struct demangle_component *tree)
{
	struct weight weight = { 0 };

	for (unsigned int scope = 0; scope <= scale->scopes; scope++) {
		memset(scale->weights, 0, scale->len * sizeof(*scale->weights));
		scale->pack = scale->next_pack;
		scale->next_pack = scale->argument = scale->scopes = scale->templates = scale->refs = 0;
		weight = weigh(scale, tree);
		if (weight.nodes > CPLUS_STEPS_MAX || scale->scopes > SCOPES_MAX)
			return too_heavy;
		if (scale->next_pack == scale->pack)
			break;
	}
	return weight;
}

/*
 * Without packs, whatever has branches prints something for each. With them, a parameter may print little and walk far,
 * each time it is printed. libiberty counts a node up to twice.
 */
static bool is_cheap(const struct demangle_component *tree, const void *nodes, size_t len, uint64_t *steps)
{
	struct weight few[256], weight = too_heavy;
	struct scale scale = { .nodes = nodes, .len = len, .weights = few };

	if (len > sizeof(few) / sizeof(*few))
		scale.weights = malloc(len * sizeof(*scale.weights));
	if (scale.weights)
		weight = weigh_tree(&scale, tree);
	if (scale.weights != few)
		free(scale.weights);
	*steps += len + (scale.packs ? (uint64_t)weight.nodes + weight.walked : 0);
	return scale.weights && 4 * (uint64_t)scale.templates * scale.refs <= ROOM_MAX &&
	       (!scale.packs ||
		(weight.nodes <= CPLUS_STEPS_MAX && weight.walked <= CPLUS_STEPS_MAX && scale.argument <= WALKED_MAX));
}

/*
 * In a conversion operator libiberty tries twice whether the arguments of a template parameter belong to it, and within
 * those again. Names that do so more than once are not seen.
 */
static bool is_tried_often(const char *name)
{
	unsigned int count = 0;

	if (!strstr(name, "cv"))
		return false;
	for (const char *at = strchr(name, 'T'); at && count <= RETRIES_MAX; at = strchr(at, 'T')) {
		at++;
		at += strspn(at, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
		count += at[0] == '_' && at[1] == 'I';
	}
	return count > RETRIES_MAX;
}

/* What the text of a name alone says. */
struct text {
	unsigned int again, parameters; /* S_, T0_ and their like */
	unsigned int scopes;            /* at most so many templates around each other */
	unsigned int lists, refs;       /* of arguments of templates; to parameters */
	bool packs;
};

static struct text read_text(const char *name, size_t len)
{
	struct text text = { .scopes = 2 };
	bool number = false; /* what comes next is one, up to a bar */

	for (size_t at = len; at-- > 2;) {
		char c = name[at], next = name[at + 1];

		text.again += number && c == 'S';
		text.parameters += number && c == 'T';
		text.scopes += c == 'Z';
		text.lists += c == 'I';
		text.refs += (c == 'R' || c == 'O') && next == 'T';
		text.packs |= c == 'J' || (c == 'D' && next == 'p') ||
			      (c == 's' && (next == 'p' || next == 'Z' || next == 'P'));
		number = c == '_' || (number && ((c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')));
	}
	return text;
}

/*
 * Each "as before" can at most double what there is before it, and so can each parameter; what is as before may hold
 * parameters, once for each template around it. Without packs, whatever has branches prints something for each.
 */
static bool is_plain(const char *name, size_t len)
{
	struct text text = read_text(name, len);
	uint64_t doubled = text.again + (text.parameters ? text.again * (text.scopes - 1) + text.parameters : 0);

	if (4 * (uint64_t)text.lists * text.refs > ROOM_MAX)
		return false;
	if (doubled < 16 && (uint64_t)NODES_PER_BYTE * len << doubled <= CPLUS_STEPS_MAX)
		return true;
	return !text.packs && text.scopes == 2 && (uint64_t)text.parameters * len <= CPLUS_STEPS_MAX;
}

static int options_of(size_t len, bool parameters)
{
	return DMGL_ANSI | (parameters ? DMGL_PARAMS : 0) | (len > GUARDED_MAX ? DMGL_NO_RECURSE_LIMIT : 0);
}

static void ignore(const char *piece, size_t len, void *opaque)
{
	(void)piece;
	(void)len;
	(void)opaque;
}

/* Without the parameters libiberty does not look at the end of the name: first see whether it is right to its end. */
static bool print_plain(const char *name, size_t len, bool full, demangle_callbackref print, void *opaque)
{
	return (full || cplus_demangle_v3_callback(name, options_of(len, true), ignore, NULL)) &&
	       cplus_demangle_v3_callback(name, options_of(len, full), print, opaque);
}

static bool is_whole(const char *name, size_t len)
{
	void *memory = NULL;
	bool whole = cplus_demangle_v3_components(name, options_of(len, true), &memory) != NULL;

	free(memory);
	return whole;
}

bool cplus_print(const char *name, size_t len, bool full, demangle_callbackref print, void *opaque, void **ret_memory,
		 uint64_t *steps)
{
	struct demangle_component *tree;

	*ret_memory = NULL;
	if (len > NAME_MAX_LEN || is_tried_often(name))
		return false;
	if (is_plain(name, len))
		return print_plain(name, len, full, print, opaque);
	tree = full || is_whole(name, len) ? cplus_demangle_v3_components(name, options_of(len, full), ret_memory)
					   : NULL;
	return tree && is_cheap(tree, *ret_memory, NODES_PER_BYTE * len, steps) &&
	       cplus_demangle_print_callback(options_of(len, full), tree, print, opaque);
}
