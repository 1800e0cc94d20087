/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `wick serve`, and what its two processes do. */
#ifndef WICK_CMD_SERVE_H
#define WICK_CMD_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/opt.h"
#include "cmd/record.h"

#define SERVE_HZ "49"
#define SERVE_LISTEN "127.0.0.1:7777"
#define SERVE_DATA "/var/lib/wick"
#define SERVE_SOCKET "/run/wick/wick.sock"

struct serve_options {
	struct record_options record; /* what is sampled */
	const char *listen, *data, *socket;
	const char *keep_text, *keep_bytes_text, *keep_events_text, *window_text;
	const char *token_file, *tls_cert, *tls_key;
	bool insecure, public_metrics;
	struct opt_list hosts, origins, user_texts;
	struct opt_list replay;
	const char *http_fd; /* what the other process is started with */
	/* Read from the texts: */
	uint64_t keep_ns, keep_bytes, event_bytes, window_ns;
	uid_t *users;
	size_t users_len;
	uid_t sudo_user; /* who had sudo start this, if it did */
	bool by_sudo;
};

extern const struct opt serve_option_table[];

/* -ECANCELED for help, -EINVAL with fail() set. */
int serve_parse(struct serve_options *ret, int argc, char **argv);
void serve_options_free(struct serve_options *options);

/* Saved profiles, in this process, until a signal comes. 0 or -errno with fail() set. */
int serve_replay(const struct serve_options *options);
/* The process that listens: until the other one, whose socket this is, ends. Returns its exit status. */
int serve_http(const struct serve_options *options, int fd);

/* For the processes of a server: memory that is not needed any more is given back. */
void serve_spare_memory(void);

/* One line on standard error for each event. */
void serve_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
