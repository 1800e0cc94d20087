/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a profile to standard output, the same one always: what a busy machine gives, without a machine. It is what
 * tests/golden/busy.wick was made with (mkprofile >tests/golden/busy.wick).
 *
 * A stack is written here from its root to its leaf, frames separated by blanks: NAME|FILE, 0xOFFSET|FILE without a
 * name, k:NAME of the kernel, j:NAME of a JIT (j: alone without a name), i:NAME|FILE inlined, !REASON not whole. A
 * blank in a name is written ~.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "out/out.h"
#include "profile/profile.h"

#define CONTAINER "3f4e5d6c7b8a99887766554433221100ffeeddccbbaa99887766554433221100"
#define LEN(list) (sizeof(list) / sizeof(*(list)))

static const struct {
	const char *name, *path, *reason;
} files[] = {
	{ "redis", "/usr/bin/redis-server", NULL },
	{ "lua", "/usr/lib/x86_64-linux-gnu/liblua5.1.so.0", NULL },
	{ "libc", "/usr/lib/x86_64-linux-gnu/libc.so.6", NULL },
	{ "cc1plus", "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus", NULL },
	{ "node", "/usr/bin/node", NULL },
	{ "agent", "/opt/agent/bin/agent", "stripped" },
	{ "plugin", "/opt/agent/lib/plugin.so", "file_gone" },
	{ "app", "/srv/日本語/計算機", NULL },
};

static const struct {
	uint32_t pid;
	const char *comm, *exe, *unit, *container;
	struct profile_ways ways;
} processes[] = {
	{ 812, "redis-server", "/usr/bin/redis-server", "docker.service", CONTAINER, { 8012, 0, 331 } },
	{ 2001, "cc1plus", "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus", "build.service", "", { 1290, 0, 134 } },
	{ 2017, "cc1plus", "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus", "build.service", "", { 967, 0, 0 } },
	{ 2040, "cc1plus", "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus", "build.service", "", { 580, 0, 0 } },
	{ 900, "node", "/usr/bin/node", "web.service", "shop-frontend", { 761, 242, 0 } },
	{ 77, "kswapd0", "", "", "", { 0 } },
	{ 1200, "agent", "/opt/agent/bin/agent", "agent.service", "", { 41, 240, 0 } },
	{ 1300, "計算機", "/srv/日本語/計算機", "session-3.scope", "", { 0, 161, 0 } },
};

#define REDIS "_start|redis __libc_start_main|libc main|redis aeMain|redis aeProcessEvents|redis "
#define COMMAND REDIS "readQueryFromClient|redis processCommand|redis call|redis "
#define EVAL COMMAND "evalCommand|redis lua_pcall|lua luaD_call|lua "
#define SYSCALL "k:entry_SYSCALL_64_after_hwframe k:do_syscall_64 "
#define CC1 "_start|cc1plus __libc_start_main|libc main|cc1plus toplev::main|cc1plus compile_file|cc1plus "
#define NODE "_start|node main|node node::Start|node uv_run|node "
#define MAP_FIND                                                                                        \
	"std::_Rb_tree<std::basic_string<char>,~std::pair<const~std::basic_string<char>,~tree_node*>,~" \
	"std::_Select1st<...>,~std::less<void>>::find|cc1plus "

static const struct {
	unsigned process; /* from 1 */
	uint32_t tid;
	uint64_t value;
	const char *stack;
} samples[] = {
	{ 1, 812, 356, EVAL "luaV_execute|lua" },
	{ 1, 812, 120, EVAL "luaV_execute|lua luaH_getstr|lua" },
	{ 1, 812, 64, EVAL "luaV_execute|lua luaV_execute|lua luaH_getstr|lua" },
	{ 1, 812, 40, EVAL "luaV_execute|lua i:luaH_mainposition|lua" },
	{ 1, 812, 98, COMMAND "setCommand|redis dbAdd|redis dictAddRaw|redis" },
	{ 1, 812, 31, COMMAND "setCommand|redis dbAdd|redis dictAddRaw|redis je_malloc|redis" },
	{ 1, 812, 17, COMMAND "getCommand|redis lookupKey|redis" },
	{ 1, 813, 12, "!no_mapping bioProcessBackgroundJobs|redis" },
	{ 1, 812, 88,
	  REDIS "writeToClient|redis write|libc " SYSCALL "k:vfs_write k:sock_write_iter k:tcp_sendmsg_locked "
		"k:tcp_write_xmit k:__local_bh_enable_ip k:net_rx_action" },
	{ 1, 812, 26, REDIS "aeApiPoll|redis epoll_wait|libc " SYSCALL "k:do_epoll_wait" },
	{ 2, 2001, 130, CC1 "c_parse_file|cc1plus cp_parser_declaration|cc1plus lookup_name|cc1plus " MAP_FIND },
	{ 3, 2017, 92, CC1 "c_parse_file|cc1plus cp_parser_declaration|cc1plus lookup_name|cc1plus " MAP_FIND },
	{ 4, 2040, 55, CC1 "c_parse_file|cc1plus cp_parser_declaration|cc1plus instantiate_template|cc1plus" },
	{ 2, 2001, 48, CC1 "symbol_table::compile|cc1plus execute_pass_list|cc1plus df_analyze|cc1plus" },
	{ 3, 2017, 33, CC1 "symbol_table::compile|cc1plus execute_pass_list|cc1plus ira|cc1plus" },
	{ 4, 2040, 21,
	  CC1 "symbol_table::compile|cc1plus execute_pass_list|cc1plus memset|libc k:asm_exc_page_fault "
	      "k:handle_mm_fault k:clear_page_erms" },
	{ 5, 900, 76, NODE "j:LazyCompile:*handle~/srv/app.js:12 j:RegExp:^/cart/(\\d+)$" },
	{ 5, 900, 45, NODE "j:LazyCompile:*handle~/srv/app.js:12 node::http_parser::Execute|node" },
	{ 5, 901, 38, "!no_frame_pointer j:" },
	{ 5, 905, 29, "__clone3|libc start_thread|libc Worker::Run|node v8::GC::Mark|node" },
	{ 6, 77, 47, "k:ret_from_fork k:kthread k:kswapd k:balance_pgdat k:shrink_node k:shrink_lruvec" },
	{ 6, 77, 9, "k:ret_from_fork k:kthread k:kswapd k:balance_pgdat k:shrink_slab" },
	{ 7, 1200, 41, "__libc_start_main|libc 0x41d2|agent 0x5310|agent 0x99a0|agent" },
	{ 7, 1200, 22, "__libc_start_main|libc 0x41d2|agent 0x1a10|plugin" },
	{ 7, 1200, 6, "__libc_start_main|libc 0x41d2|agent memcpy|libc" },
	{ 8, 1300, 15, "main|app fib|app fib|app fib|app fib|app fib|app" },
	{ 8, 1300, 11, "main|app fib|app fib|app fib|app" },
	{ 8, 1300, 8, "main|app 合計を計算する|app" },
	{ 8, 1300, 2, "" },
};

static const struct {
	const char *group, *name;
	uint64_t value;
} counters[] = {
	{ "total", "fired", 1970 },
	{ "total", "taken", 1583 },
	{ "total", "counted", 1580 },
	{ "total", "deferred", 47 },
	{ "left_out", "idle", 381 },
	{ "left_out", "filter", 0 },
	{ "left_out", "self", 6 },
	{ "lost", "ring", 3 },
	{ "lost", "stacks", 0 },
	{ "lost", "busy", 0 },
	{ "stack", "user", 1522 },
	{ "stack", "complete", 1472 },
	{ "cut", "depth", 0 },
	{ "cut", "no_mapping", 12 },
	{ "cut", "no_frame_pointer", 38 },
	{ "frame", "row", 11651 },
	{ "frame", "fp", 643 },
	{ "frame", "user", 465 },
	{ "note", "missed", 10 },
	{ "note", "keys", 29 },
	{ "self", "cpu_us", 8000 },
	{ "self", "max_rss_bytes", 21000000 },
	{ "self", "bpf_runs", 1970 },
	{ "self", "bpf_run_ns", 14578000 },
	{ "self", "bpf_map_bytes", 14000000 },
	{ "self", "first_sample_us", 41500 },
};

static uint32_t file_numbers[LEN(files)], process_numbers[LEN(processes)];

static uint32_t find_file(const char *name)
{
	for (size_t i = 0; i < LEN(files); i++)
		if (!strcmp(files[i].name, name))
			return file_numbers[i];
	fprintf(stderr, "mkprofile: no file '%s'\n", name);
	exit(1);
}

/* The address of a function is made from its name, so that two of one file differ. */
static uint64_t address_of(const char *name)
{
	uint64_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash & 0xffffff;
}

static uint32_t add_frame(struct profile *profile, char *word, uint32_t process)
{
	struct profile_frame frame = { .kind = FRAME_USER };
	char *bar = strchr(word, '|');

	if (*word == '!') {
		frame.kind = FRAME_CUT;
		frame.name = profile_string(profile, word + 1);
		return profile_add_frame(profile, &frame);
	}
	if (word[1] == ':' && word[2] != ':') {
		frame.kind = *word == 'k' ? FRAME_KERNEL : *word == 'j' ? FRAME_JIT : FRAME_INLINE;
		word += 2;
	}
	if (bar)
		*bar = '\0';
	for (char *c = word; *c; c++)
		*c = *c == '~' ? ' ' : *c;
	frame.file = bar ? find_file(bar + 1) : PROFILE_NONE;
	frame.process = frame.kind == FRAME_JIT ? process : PROFILE_NONE;
	if (!strncmp(word, "0x", 2)) {
		frame.address = strtoull(word, NULL, 16);
	} else {
		frame.address = address_of(word) | (frame.kind == FRAME_KERNEL ? 0xffffffff81000000 : 0);
		frame.name = profile_string(profile, word);
	}
	return profile_add_frame(profile, &frame);
}

static void add_files(struct profile *profile)
{
	for (size_t i = 0; i < LEN(files); i++) {
		const struct profile_file file = {
			.device = 8,
			.inode = 1000 + i,
			.size = 100000,
			.path = profile_string(profile, files[i].path),
			.reason = files[i].reason ? profile_string(profile, files[i].reason) : PROFILE_NONE,
		};

		file_numbers[i] = profile_add_file(profile, &file);
	}
}

static void add_processes(struct profile *profile)
{
	for (size_t i = 0; i < LEN(processes); i++) {
		struct profile_process *process;

		process_numbers[i] = profile_add_process(profile, processes[i].pid, 1000000 * (i + 1));
		process = profile_process(profile, process_numbers[i]);
		process->comm = profile_string(profile, processes[i].comm);
		process->exe = profile_string(profile, processes[i].exe);
		process->ways = processes[i].ways;
	}
}

static uint32_t add_label(struct profile *profile, uint32_t set, const char *key, const char *value)
{
	if (!*value)
		return set;
	return profile_add_label(profile, set, profile_string(profile, key), profile_string(profile, value));
}

static void add_samples(struct profile *profile)
{
	for (size_t i = 0; i < LEN(samples); i++) {
		unsigned owner = samples[i].process - 1;
		struct profile_sample sample = { .value = samples[i].value, .process = process_numbers[owner] };
		char *stack = strdup(samples[i].stack), *rest = stack, *word;

		while ((word = strsep(&rest, " ")))
			if (*word)
				sample.stack = profile_add_node(profile, sample.stack,
								add_frame(profile, word, sample.process));
		free(stack);
		sample.tid = samples[i].tid;
		sample.comm = profile_process(profile, sample.process)->comm;
		sample.labels = add_label(profile, PROFILE_NONE, "container", processes[owner].container);
		sample.labels = add_label(profile, sample.labels, "unit", processes[owner].unit);
		profile_add_sample(profile, &sample);
	}
}

static void add_meta(struct profile *profile)
{
	struct profile_meta *meta = profile_meta(profile);

	meta->hz = 99;
	meta->period = 10101010;
	meta->start_us = 5000000;
	meta->wall_ns = 1700000000000000000;
	meta->duration_ns = 10000000000;
	meta->cpus = 2;
	meta->expected = 1980;
	meta->event = profile_string(profile, "cpu-clock");
	meta->unit = profile_string(profile, "samples");
	meta->host = profile_string(profile, "shop1");
	meta->kernel = profile_string(profile, "6.1.0");
	meta->arch = profile_string(profile, "x86_64");
	meta->version = profile_string(profile, "0.1.0");
	meta->command = profile_string(profile, "wick record --threads 10");
	meta->busy_user_us = 13600000;
	meta->busy_kernel_us = 2600000;
	meta->idle_us = 3800000;
}

int main(void)
{
	struct buf out = { 0 };
	struct profile *profile;
	int err = profile_new(&profile);

	if (err)
		return 1;
	add_meta(profile);
	add_files(profile);
	add_processes(profile);
	add_samples(profile);
	for (size_t i = 0; i < LEN(counters); i++)
		profile_add_counter(profile, counters[i].group, counters[i].name, counters[i].value);
	err = out_wick(profile, &out);
	if (!err && fwrite(out.data, 1, out.len, stdout) != out.len)
		err = 1;
	buf_free(&out);
	profile_free(profile);
	return err || fflush(stdout) ? 1 : 0;
}
