/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules by which files of targets are told apart, in one place. A file is root's if it is root's in a file system
 * that root mounted, and nobody else may write it. Pure, but for the question to a helper.
 */
#include "collect/origin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bpf/wire.h"
#include "collect/lookup.h"
#include "worker/pool.h"

struct origin origin_of(const struct wire_file *found)
{
	return (struct origin){
		.pid = found->pid,
		.mount = found->mount,
		.uid = found->user <= UINT32_MAX ? found->user : UINT64_MAX,
		.user = found->user,
		.maker = found->user ? found->user : POOL_ANYONE,
		.owner = found->key.owner,
		.plain = helpers_is_plain(&found->place),
	};
}

void origin_opened(struct origin *origin, const struct opened *opened)
{
	bool shared = opened->mode & (S_IWGRP | S_IWOTH);

	origin->trusted = opened->trusted;
	origin->owner = opened->owner;
	origin->copied = opened->copied ? opened->size : 0;
	if (opened->trusted && !shared)
		origin->maker = opened->owner;
	else if (opened->trusted)
		origin->maker = POOL_ANYONE;
}

/* A search that goes on in the target's root if there is nothing in ours. */
struct search {
	struct helpers *helpers;
	struct helper_request request; /* the one to go on with */
};

static void own_searched(void *arg, const struct opened *opened, int fd, const char *text, size_t len)
{
	struct search *search = arg;
	bool over = fd >= 0 || opened->err == -ECANCELED || helpers_ask(search->helpers, &search->request);

	if (over)
		search->request.done(search->request.arg, opened, fd, text, len);
	free(search);
}

/*
 * What belongs to root is not held up by what the first to meet it does, nor does it cost him: it is looked for in our
 * own root first, and only then as the one who met it would.
 */
static int search_own_first(struct helpers *helpers, const struct helper_request *request)
{
	struct search *search = malloc(sizeof(*search));
	struct helper_request own = *request;
	int err = search ? 0 : -ENOMEM;

	if (!err) {
		*search = (struct search){ helpers, *request };
		own.opening.own = true;
		own.opening.pid = 0;
		own.user = WIRE_USER_ROOT;
		own.plain = true;
		own.done = own_searched;
		own.arg = search;
		err = helpers_ask(helpers, &own);
	}
	if (err)
		free(search);
	return err;
}

int origin_find_debug(const struct origin *origin, struct helpers *helpers, struct sampler *sampler,
		      enum opening_kind kind, const char *path, const struct symbols_debug *debug, helper_done *done,
		      void *arg)
{
	bool roots = !origin->maker, own_paths = origin->plain && lookup_own_mount(origin->mount);
	struct helper_request request = {
		.opening = { .kind = kind,
			     .pid = origin->pid,
			     .uid = origin->uid,
			     .owner = origin->owner,
			     .mount = origin->mount,
			     .trusted = origin->trusted,
			     .debug = *debug },
		.sampler = sampler,
		.user = roots && own_paths ? WIRE_USER_ROOT : origin->user,
		.plain = roots && own_paths,
		.done = done,
		.arg = arg,
	};

	memccpy(request.opening.path, path, 0, sizeof(request.opening.path) - 1);
	return roots && !own_paths ? search_own_first(helpers, &request) : helpers_ask(helpers, &request);
}
