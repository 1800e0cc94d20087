/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a cgroup path as systemd, the container runtimes and Kubernetes write them. Each component is looked at by
 * itself, from the root down, with the one above it; the innermost container and the innermost unit win. Anyone may
 * make a cgroup with any name where root has left him a part of the tree: what users named is kept apart from what
 * root named, and carries its user. What has no known form gives nothing, and what does not fit its field is not cut
 * but left out.
 */
#include "proc/place.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define SHORT_ID 12
#define COMPONENTS_MAX 256

struct word {
	const char *text;
	size_t len;
};

static bool equals(struct word word, const char *text)
{
	return word.len == strlen(text) && !memcmp(word.text, text, word.len);
}

/* Takes a prefix or suffix away, if it is there and something is left. */
static bool take_prefix(struct word *word, const char *prefix)
{
	size_t len = strlen(prefix);

	if (word->len <= len || memcmp(word->text, prefix, len))
		return false;
	*word = (struct word){ word->text + len, word->len - len };
	return true;
}

static bool take_suffix(struct word *word, const char *suffix)
{
	size_t len = strlen(suffix);

	if (word->len <= len || memcmp(word->text + word->len - len, suffix, len))
		return false;
	word->len -= len;
	return true;
}

/* Unescaped text may hold what a component cannot: a '/' would make a user's name of it. */
static bool copy(struct word word, char *ret, size_t size)
{
	if (!word.len || word.len >= size || memchr(word.text, 0, word.len) || memchr(word.text, '/', word.len))
		return false;
	memcpy(ret, word.text, word.len);
	ret[word.len] = 0;
	return true;
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static size_t hex_len(struct word word)
{
	size_t len = 0;

	while (len < word.len && is_hex(word.text[len]))
		len++;
	return len;
}

/* 64 hexadecimal digits, or ECS's 32 with a number behind. */
static bool is_id(struct word word)
{
	size_t len = hex_len(word);

	if (len == 64)
		return word.len == 64;
	if (len != 32 || word.len < 34 || word.text[32] != '-')
		return false;
	for (size_t i = 33; i < word.len; i++) {
		if (word.text[i] < '0' || word.text[i] > '9')
			return false;
	}
	return true;
}

static void set_container(struct place *place, const char *runtime, struct word id)
{
	char text[sizeof(place->container)];

	if (!copy(id, text, sizeof(text)))
		return;
	memcpy(place->container, text, sizeof(text));
	memset(place->runtime, 0, sizeof(place->runtime));
	memcpy(place->runtime, runtime, strlen(runtime));
}

/* ---- Kubernetes ---- */

/* 8-4-4-4-12 hexadecimal digits, with - or _ between; or 32 of them, for pods that come from files. */
static bool take_uid(struct word word, char ret[64])
{
	static const unsigned char groups[] = { 8, 4, 4, 4, 12 };
	size_t at = 0;

	if (word.len == 32 && hex_len(word) == 32)
		return copy(word, ret, 64);
	if (word.len != 36)
		return false;
	for (size_t i = 0; i < sizeof(groups); i++) {
		for (size_t k = 0; k < groups[i]; k++, at++) {
			if (!is_hex(word.text[at]))
				return false;
		}
		if (at < 36 && word.text[at] != '-' && word.text[at] != '_')
			return false;
		at++;
	}
	for (size_t i = 0; i < 36; i++)
		ret[i] = word.text[i] == '_' ? '-' : word.text[i];
	ret[36] = 0;
	return true;
}

/* podUID, kubepods-podUID.slice, kubelet-kubepods-burstable-podUID.slice */
static bool take_pod(struct place *place, struct word word)
{
	bool slice = take_suffix(&word, ".slice");

	if (slice) {
		struct word rest = word;

		if (!memmem(word.text, word.len, "kubepods", 8))
			return false;
		while (rest.len > 3 && memcmp(rest.text, "-pod", 4))
			rest = (struct word){ rest.text + 1, rest.len - 1 };
		word = rest;
		return take_prefix(&word, "-pod") && take_uid(word, place->pod);
	}
	return take_prefix(&word, "pod") && take_uid(word, place->pod);
}

/* ---- Containers ---- */

/* Those whose name starts with the runtime's, then the id; .scope behind it where systemd makes the cgroup. */
static const struct {
	const char *prefix, *runtime;
} prefixes[] = {
	{ "docker-", "docker" },         { "cri-containerd-", "containerd" }, { "crio-", "crio" },
	{ "libpod-", "podman" },         { "libpod-payload-", "podman" },     { "nerdctl-", "containerd" },
	{ "containerd-", "containerd" }, { "buildkit-", "buildkit" },
};

/* Folders in which a runtime makes one cgroup for each container. */
static const struct {
	const char *folder, *runtime;
	bool any_name; /* or ids only */
} folders[] = {
	{ "docker", "docker", false },    { "k8s.io", "containerd", false },
	{ "moby", "docker", false },      { "libpod_parent", "podman", false },
	{ "lxc", "lxc", true },           { "lxc.payload", "lxc", true },
	{ "garden", "garden", true },     { "mesos", "mesos", true },
	{ "buildkit", "buildkit", true },
};

static bool take_prefixed(struct place *place, struct word word)
{
	take_suffix(&word, ".scope");
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		struct word id = word;

		if (take_prefix(&id, prefixes[i].prefix) && is_id(id)) {
			set_container(place, prefixes[i].runtime, id);
			return true;
		}
	}
	return false;
}

/* slice:cri-containerd:ID, as containerd writes it without systemd. */
static bool take_colons(struct place *place, struct word word)
{
	const char *last = memrchr(word.text, ':', word.len);
	struct word id, runtime = { word.text, 0 };
	const char *before;

	if (!last)
		return false;
	id = (struct word){ last + 1, word.len - (size_t)(last + 1 - word.text) };
	before = memrchr(word.text, ':', (size_t)(last - word.text));
	runtime.text = before ? before + 1 : word.text;
	runtime.len = (size_t)(last - runtime.text);
	if (!is_id(id))
		return false;
	if (before)
		take_pod(place, (struct word){ word.text, (size_t)(before - word.text) });
	if (equals(runtime, "cri-containerd"))
		set_container(place, "containerd", id);
	else if (equals(runtime, "docker") || equals(runtime, "crio"))
		set_container(place, equals(runtime, "docker") ? "docker" : "crio", id);
	else if (equals(runtime, "libpod"))
		set_container(place, "podman", id);
	else
		set_container(place, "", id);
	return true;
}

static int hex_value(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* systemd writes what it cannot have in a name as \xNN. */
static struct word unescape(struct word word, char *into, size_t size)
{
	size_t len = 0;

	for (size_t i = 0; i < word.len && len < size; len++) {
		if (word.len - i >= 4 && word.text[i] == '\\' && word.text[i + 1] == 'x' && is_hex(word.text[i + 2]) &&
		    is_hex(word.text[i + 3])) {
			into[len] = (char)(hex_value(word.text[i + 2]) * 16 + hex_value(word.text[i + 3]));
			i += 4;
		} else {
			into[len] = word.text[i++];
		}
	}
	return (struct word){ into, len };
}

/* machine-NAME.scope: nspawn, or libvirt's machines, which have their driver in the name. */
static bool take_machine(struct place *place, struct word word)
{
	char plain[256];
	struct word name;

	if (take_prefix(&word, "machine-") && take_suffix(&word, ".scope")) {
		const char *runtime = "systemd-nspawn";

		name = unescape(word, plain, sizeof(plain));
		if (take_prefix(&name, "qemu-"))
			runtime = "qemu";
		else if (take_prefix(&name, "lxc-"))
			runtime = "libvirt-lxc";
		set_container(place, runtime, name);
		return true;
	}
	if (take_prefix(&word, "systemd-nspawn@") && take_suffix(&word, ".service"))
		set_container(place, "systemd-nspawn", unescape(word, plain, sizeof(plain)));
	return false; /* the service is the unit as well */
}

/* `otherwise`: the runtime, where only the folders above tell. */
static bool take_container(struct place *place, struct word word, struct word parent, const char *otherwise)
{
	struct word name = word;

	if (take_prefixed(place, word) || take_colons(place, word) || take_machine(place, word))
		return true;
	if (take_prefix(&name, "lxc.payload.")) {
		set_container(place, "lxc", name);
		return true;
	}
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		if (equals(parent, folders[i].folder) && (folders[i].any_name || is_id(word))) {
			set_container(place, folders[i].runtime, word);
			return true;
		}
	}
	if (!is_id(word))
		return false;
	set_container(place, otherwise, word);
	return true;
}

/* ---- Units ---- */

static bool is_unit(struct word word)
{
	static const char *const kinds[] = { ".service", ".scope", ".socket", ".mount", ".swap" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct word name = word;

		if (take_suffix(&name, kinds[i]))
			return true;
	}
	return false;
}

static struct word next_component(struct word *rest)
{
	const char *slash;
	struct word word;

	while (rest->len && *rest->text == '/')
		*rest = (struct word){ rest->text + 1, rest->len - 1 };
	slash = memchr(rest->text, '/', rest->len);
	word = (struct word){ rest->text, slash ? (size_t)(slash - rest->text) : rest->len };
	*rest = (struct word){ word.text + word.len, rest->len - word.len };
	return word;
}

/* ---- Whose words ---- */

/* "UID/NAME", or nothing where that does not fit. */
static void mark(const char *name, uint32_t owner, char *ret, size_t size)
{
	if (*name && (size_t)snprintf(ret, size, "%u/%s", (unsigned int)owner, name) >= size)
		*ret = 0;
}

/* Adds what a user named to what root did. */
static void add_users(struct place *place, const struct place *theirs, uint32_t owner)
{
	mark(theirs->unit, owner, place->user_unit, sizeof(place->user_unit));
	if (!*place->pod)
		mark(theirs->pod, owner, place->pod, sizeof(place->pod));
	if (*place->container)
		return;
	mark(theirs->container, owner, place->container, sizeof(place->container));
	if (*place->container)
		memcpy(place->runtime, theirs->runtime, sizeof(place->runtime));
}

void place_named(const char *cgroup_path, size_t len, const struct place_names *names, struct place *ret)
{
	struct word rest = { cgroup_path ? cgroup_path : "", cgroup_path ? len : 0 }, word, parent = { "", 0 };
	struct place theirs = { 0 };
	const char *path = rest.text;
	bool ecs = false, pods = false;

	*ret = (struct place){ 0 };
	take_suffix(&rest, " (deleted)");
	for (unsigned int i = 0; i < COMPONENTS_MAX; i++, parent = word) {
		struct place *into;

		word = next_component(&rest);
		into = (size_t)(word.text - path) < names->root_len ? ret : &theirs;
		if (!word.len || (into == &theirs && names->owner == PLACE_UNKNOWN))
			break;
		ecs = ecs || equals(word, "ecs");
		pods = pods || equals(word, "kubepods") || equals(word, "kubepods.slice");
		if (take_pod(into, word))
			continue;
		if (take_container(into, word, parent, ecs ? "ecs" : pods ? "kubernetes" : ""))
			continue;
		if (is_unit(word))
			copy(word, into->unit, sizeof(into->unit));
	}
	add_users(ret, &theirs, names->owner);
}

void place_of(const char *cgroup_path, size_t len, struct place *ret)
{
	place_named(cgroup_path, len, &(struct place_names){ .root_len = len, .owner = PLACE_UNKNOWN }, ret);
}

void place_short(const char *container, char *ret, size_t size)
{
	const char *slash = strchr(container, '/');
	const char *name = slash ? slash + 1 : container;
	struct word word = { container, strlen(container) };

	if (!size)
		return;
	if (is_id((struct word){ name, strlen(name) }))
		word.len = (size_t)(name - container) + SHORT_ID;
	if (word.len >= size)
		word.len = size - 1;
	memcpy(ret, word.text, word.len);
	ret[word.len] = 0;
}
