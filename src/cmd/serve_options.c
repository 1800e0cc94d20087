/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and checks what was asked of `wick serve`. */
#include "cmd/serve.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/text.h"
#include "cmd/values.h"

#define AT(field) offsetof(struct serve_options, field)
#define KEEP_BYTES ((uint64_t)2 << 30)
#define KEEP_BYTES_MIN ((uint64_t)1 << 20)
#define EVENT_BYTES ((uint64_t)256 << 20)
#define BYTES_MAX ((uint64_t)1 << 50)
#define KEEP_DEFAULT "7d"
#define KEEP_MAX_S (100.0 * 365 * 86400)
#define WINDOW_S 10
#define WINDOW_MAX_S 60

const struct opt serve_option_table[] = {
	{ 'F', "frequency", "HZ", opt_text, AT(record.frequency), "samples a second on each CPU (" SERVE_HZ ")", NULL },
	{ 0, "listen", "ADDRESS:PORT", opt_text, AT(listen), "where to listen (" SERVE_LISTEN ")", NULL },
	{ 0, "data", "FOLDER", opt_text, AT(data), "where profiles are kept (" SERVE_DATA ")", "dir" },
	{ 0, "socket", "PATH", opt_text, AT(socket), "where commands of this machine ask (" SERVE_SOCKET ")", "file" },
	{ 0, "keep", "TIME", opt_text, AT(keep_text),
	  "how long windows are kept, such as 12h or 30d; coarser ones longer (" KEEP_DEFAULT ")", NULL },
	{ 0, "keep-bytes", "BYTES", opt_text, AT(keep_bytes_text), "how much is kept, at most (2G)", NULL },
	{ 0, "keep-events", "BYTES", opt_text, AT(keep_events_text),
	  "of that, times of single samples, for heat maps (256M)", NULL },
	{ 0, "window", "SECONDS", opt_text, AT(window_text), "what is written to disk together (10)", NULL },
	{ 0, "allow-users", "NAME,...", opt_list, AT(user_texts),
	  "these users may ask too, besides root and who started it; names or numbers", NULL },
	{ 0, "public-metrics", NULL, opt_flag, AT(public_metrics), "/metrics, /healthz and /readyz answer everybody",
	  NULL },
	{ 0, "token-file", "FILE", opt_text, AT(token_file), "ask all but --allow-users for the token in this file",
	  "file" },
	{ 0, "tls-cert", "FILE", opt_text, AT(tls_cert), "certificate, PEM", "file" },
	{ 0, "tls-key", "FILE", opt_text, AT(tls_key), "its key, PEM", "file" },
	{ 0, "insecure", NULL, opt_flag, AT(insecure), "listen beyond this machine without token and TLS", NULL },
	{ 0, "allow-host", "NAME", opt_list, AT(hosts), "another name that this server has (again for more)", NULL },
	{ 0, "allow-origin", "ORIGIN", opt_list, AT(origins), "pages from there may ask too (again for more)", NULL },
	{ 0, "replay", "FILE", opt_list, AT(replay),
	  "do not sample: show these saved profiles, and those named behind; needs no root", "file" },
	{ 'p', "pid", "PID,...", opt_list, AT(record.pids), "only these processes, all their threads", "pid" },
	{ 't', "tid", "TID,...", opt_list, AT(record.tids), "only these threads", "pid" },
	{ 'n', "comm", "NAME", opt_list, AT(record.comms), "only threads of this name (again for more)", NULL },
	{ 0, "cgroup", "PATH", opt_text, AT(record.cgroup), "only this cgroup and those below it", "dir" },
	{ 'C', "cpu", "CPU,...", opt_list, AT(record.cpus), "only these CPUs, such as 0-3,8", "cpu" },
	{ 0, "children", NULL, opt_flag, AT(record.children), "with -p: their descendants too", NULL },
	{ 'U', "user", NULL, opt_flag, AT(record.user), "user stacks only", NULL },
	{ 'K', "kernel", NULL, opt_flag, AT(record.kernel), "kernel stacks only", NULL },
	{ 0, "self", NULL, opt_flag, AT(record.self), "keep wick's own work in", NULL },
	{ 0, "unwind", "HOW", opt_text, AT(record.unwind),
	  "auto: unwind tables, frame pointers where there are none; or fp, table, off", "auto fp table off" },
	{ 0, "unwind-memory", "BYTES", opt_text, AT(record.unwind_memory), "room for unwind tables (64M)", NULL },
	{ 0, "demangle", "HOW", opt_text, AT(record.demangle), "names of C++, Rust and D: short, full or no",
	  "short full no" },
	{ 0, "inline", NULL, opt_flag, AT(record.inlines),
	  "functions inlined by the compiler too, where there is DWARF; Go's are always there", NULL },
	{ 0, "http-fd", "FD", opt_text, AT(http_fd), NULL, NULL },
	{ 0 },
};

/* 90s, 15m, 12h, 7d */
static int parse_keep(const char *text, uint64_t *ret_ns)
{
	static const struct {
		const char *end;
		double seconds;
	} units[] = { { "s", 1 }, { "m", 60 }, { "h", 3600 }, { "d", 86400 } };
	char *rest;
	double value = strtod(text, &rest);

	for (size_t i = 0; rest != text && i < sizeof(units) / sizeof(*units); i++) {
		double seconds = value * units[i].seconds;

		if (strcmp(rest, units[i].end) || !(seconds >= 1) || !(seconds <= KEEP_MAX_S))
			continue;
		*ret_ns = (uint64_t)(seconds * (double)NS_PER_SEC);
		return 0;
	}
	return fail_hint(fail_plain(-EINVAL, "--keep: '%s' is no time", text), "write 90s, 15m, 12h or 7d");
}

static int read_texts(struct serve_options *options)
{
	double window = WINDOW_S;
	int err = parse_keep(options->keep_text ? options->keep_text : KEEP_DEFAULT, &options->keep_ns);

	options->keep_bytes = KEEP_BYTES;
	options->event_bytes = EVENT_BYTES;
	err = err ? err
		  : value_limit(options->keep_bytes_text, "keep-bytes", KEEP_BYTES_MIN, BYTES_MAX,
				&options->keep_bytes);
	err = err ? err : value_limit(options->keep_events_text, "keep-events", 0, BYTES_MAX, &options->event_bytes);
	err = err ? err : value_number(options->window_text, "window", "", 1, WINDOW_MAX_S, &window);
	options->window_ns = (uint64_t)(window * (double)NS_PER_SEC);
	return err;
}

/* By name, else by number; the last number is no user's. */
static int find_user(const char *text, uid_t *ret)
{
	uint64_t number;
#ifndef WICK_STATIC /* which cannot look names up, and has no server */
	const struct passwd *user = getpwnam(text);

	if (user) {
		*ret = user->pw_uid;
		return 0;
	}
#endif
	if (text_u64(text, &number) || number >= UINT32_MAX)
		return fail_plain(-EINVAL, "--allow-users: there is no user '%s'", text);
	*ret = (uid_t)number;
	return 0;
}

static int add_users(struct serve_options *options, const char *text)
{
	autofree char *copy = strdup(text);
	char *rest = copy, *word;
	int err = copy ? 0 : fail(-ENOMEM, "--allow-users");

	while (!err && (word = strsep(&rest, ","))) {
		uid_t *grown = reallocarray(options->users, options->users_len + 1, sizeof(*grown));

		if (!grown)
			return fail(-ENOMEM, "--allow-users");
		options->users = grown;
		err = find_user(word, &grown[options->users_len]);
		options->users_len += !err;
	}
	return err;
}

/* Who starts a server writes its environment, and could name anybody there as well as with an option. */
static int read_users(struct serve_options *options)
{
	const char *sudo = getenv("SUDO_UID");
	uint64_t number;
	int err = 0;

	if (sudo && !text_u64(sudo, &number) && number < UINT32_MAX) {
		options->sudo_user = (uid_t)number;
		options->by_sudo = true;
	}
	for (size_t i = 0; !err && i < options->user_texts.len; i++)
		err = add_users(options, options->user_texts.items[i]);
	return err;
}

/* Lists that a server is given end with NULL. */
static int end_list(struct opt_list *list)
{
	int err = opt_list(&(struct opt){ .name = "allow-host" }, NULL, list);

	list->len -= err ? 0 : 1;
	return err;
}

int serve_parse(struct serve_options *ret, int argc, char **argv)
{
	struct opt_list operands = { 0 };
	int rest, err;

	*ret = (struct serve_options){ .record.frequency = SERVE_HZ, .listen = SERVE_LISTEN, .data = SERVE_DATA };
	rest = opt_parse(serve_option_table, argc, argv, ret, &operands);
	err = rest < 0 ? rest : 0;
	if (!err && rest != argc)
		err = fail_plain(-EINVAL, "serve: it runs no command");
	if (!err && operands.len && !ret->replay.len)
		err = fail_hint(fail_plain(-EINVAL, "serve: what is '%s'?", operands.items[0]),
				"saved profiles go behind --replay");
	for (size_t i = 0; !err && i < operands.len; i++)
		err = opt_list(&(struct opt){ .name = "replay" }, operands.items[i], &ret->replay);
	opt_list_free(&operands);
	if (!ret->socket && !ret->replay.len)
		ret->socket = SERVE_SOCKET;
	err = err ? err : read_texts(ret);
	err = err ? err : read_users(ret);
	err = err ? err : end_list(&ret->hosts);
	return err ? err : end_list(&ret->origins);
}

void serve_options_free(struct serve_options *options)
{
	record_options_free(&options->record);
	opt_list_free(&options->hosts);
	opt_list_free(&options->origins);
	opt_list_free(&options->user_texts);
	free(options->users);
	opt_list_free(&options->replay);
}
