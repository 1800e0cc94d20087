/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a command and writes what it cost, one `NAME VALUE` a line: CPU time and peak memory of all its processes and,
 * with -b, what its BPF programs and maps cost, seen from outside and alike for every tool.
 *
 *   cost [-b] -o FILE COMMAND [ARGUMENT]...
 *
 * -b asks the kernel for new BPF programs of the command's process each millisecond until one that is attached to a
 * perf event has run (`first_ms`), and keeps them open, so that their counters can be read when the command has ended.
 * Ends with the command's status.
 */
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_PROGRAMS 64
#define MAX_MAPS 4096
#define MAX_LIFE_S 900
#define BEFORE_NS 1000000  /* between looks, until the first sample */
#define AFTER_NS 20000000  /* and from then on */
#define MAPS_NS 1000000000 /* between looks at the maps */
#define OWNER_TRIES 50     /* looks until a program without an owner is somebody else's */

struct program {
	int fd;
	uint32_t id;
	unsigned int tries;
	bool ours;
};

struct watch {
	pid_t pid;
	uint64_t start;
	uint64_t loaded; /* when the last program appeared before the first sample; 0: not yet */
	uint64_t first;  /* when the first sample was seen; 0: not yet */
	uint64_t maps_next;
	uint64_t map_bytes;
	uint32_t last_id;
	unsigned int programs_count;
	struct program programs[MAX_PROGRAMS];
};

__attribute__((noreturn)) static void die(const char *what)
{
	perror(what);
	exit(125);
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static bool program_info(const struct program *program, struct bpf_prog_info *ret)
{
	uint32_t size = sizeof(*ret);

	memset(ret, 0, sizeof(*ret));
	return bpf_obj_get_info_by_fd(program->fd, ret, &size) == 0;
}

/* One number of a descriptor of the process, as its fdinfo has it. */
static bool fdinfo_number(const char *text, const char *name, uint64_t *ret)
{
	const char *at = strstr(text, name);

	return at && sscanf(at + strlen(name), "%lu", ret) == 1;
}

struct walk {
	DIR *dir;
	char text[1024];
};

/* The next descriptor's fdinfo, in walk->text; false after the last one. */
static bool fdinfo_next(struct walk *walk)
{
	for (struct dirent *entry = readdir(walk->dir); entry; entry = readdir(walk->dir)) {
		int fd = openat(dirfd(walk->dir), entry->d_name, O_RDONLY | O_CLOEXEC);
		ssize_t size = fd < 0 ? -1 : read(fd, walk->text, sizeof(walk->text) - 1);

		if (fd >= 0)
			close(fd);
		if (size <= 0)
			continue;
		walk->text[size] = '\0';
		return true;
	}
	closedir(walk->dir);
	return false;
}

static bool fdinfo_open(struct walk *walk, pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", (int)pid);
	walk->dir = opendir(path);
	return walk->dir != NULL;
}

static bool owns_program(pid_t pid, uint32_t wanted)
{
	struct walk walk;
	bool found = false;
	uint64_t id;

	if (!fdinfo_open(&walk, pid))
		return false;
	while (fdinfo_next(&walk))
		found |= fdinfo_number(walk.text, "prog_id:", &id) && id == wanted;
	return found;
}

/* Kernel memory of the maps that the process holds, each counted once. */
static uint64_t maps_bytes(pid_t pid)
{
	uint64_t seen[MAX_MAPS], id, bytes, sum = 0;
	unsigned int count = 0;
	struct walk walk;

	if (!fdinfo_open(&walk, pid))
		return 0;
	while (fdinfo_next(&walk)) {
		unsigned int i = 0;

		if (!fdinfo_number(walk.text, "map_id:", &id) || !fdinfo_number(walk.text, "memlock:", &bytes))
			continue;
		while (i < count && seen[i] != id)
			i++;
		if (i < count || count == MAX_MAPS)
			continue;
		seen[count++] = id;
		sum += bytes;
	}
	return sum;
}

static void forget(struct watch *watch, unsigned int i)
{
	close(watch->programs[i].fd);
	watch->programs[i] = watch->programs[--watch->programs_count];
}

static void find_programs(struct watch *watch)
{
	uint32_t id;

	while (watch->programs_count < MAX_PROGRAMS && bpf_prog_get_next_id(watch->last_id, &id) == 0) {
		int fd = bpf_prog_get_fd_by_id(id);

		watch->last_id = id;
		if (fd >= 0)
			watch->programs[watch->programs_count++] = (struct program){ .fd = fd, .id = id };
	}
	for (unsigned int i = watch->programs_count; i-- > 0;) {
		struct program *program = &watch->programs[i];

		if (program->ours)
			continue;
		program->ours = owns_program(watch->pid, program->id);
		if (program->ours)
			watch->loaded = now();
		else if (++program->tries == OWNER_TRIES)
			forget(watch, i);
	}
}

static void find_first(struct watch *watch)
{
	struct bpf_prog_info info;

	for (unsigned int i = 0; i < watch->programs_count; i++) {
		const struct program *program = &watch->programs[i];

		if (program->ours && program_info(program, &info) && info.type == BPF_PROG_TYPE_PERF_EVENT &&
		    info.run_cnt)
			watch->first = now();
	}
}

static void look(struct watch *watch)
{
	uint64_t bytes;

	if (!watch->first) {
		find_programs(watch);
		find_first(watch);
	} else if (now() >= watch->maps_next) {
		bytes = maps_bytes(watch->pid);
		if (bytes > watch->map_bytes)
			watch->map_bytes = bytes;
		watch->maps_next = now() + MAPS_NS;
	}
}

static int compare_loads(const void *a, const void *b)
{
	const struct bpf_prog_info *left = a, *right = b;

	return (left->load_time > right->load_time) - (left->load_time < right->load_time);
}

/* "program.NAME.verified" and "program.NAME.load_us": from when it was handed to the verifier to when the next was. */
static void report_programs(const struct watch *watch, FILE *out)
{
	struct bpf_prog_info list[MAX_PROGRAMS];
	unsigned int count = 0;

	for (unsigned int i = 0; i < watch->programs_count; i++)
		if (watch->programs[i].ours && program_info(&watch->programs[i], &list[count]))
			count++;
	qsort(list, count, sizeof(*list), compare_loads);
	for (unsigned int i = 0; i < count; i++) {
		fprintf(out, "program.%s.verified %u\n", list[i].name, list[i].verified_insns);
		if (i + 1 < count)
			fprintf(out, "program.%s.load_us %.0f\n", list[i].name,
				(double)(list[i + 1].load_time - list[i].load_time) / 1e3);
	}
}

static void report_bpf(const struct watch *watch, FILE *out)
{
	uint64_t time = 0, runs = 0, verified = 0;
	struct bpf_prog_info info;

	for (unsigned int i = 0; i < watch->programs_count; i++) {
		if (!watch->programs[i].ours || !program_info(&watch->programs[i], &info))
			continue;
		verified += info.verified_insns;
		/* The one that samples: a tool may have a timer of its own beside it. */
		if (info.type == BPF_PROG_TYPE_PERF_EVENT && info.run_time_ns > time) {
			time = info.run_time_ns;
			runs = info.run_cnt;
		}
	}
	fprintf(out, "bpf_ns %.0f\nbpf_runs %lu\nverified %lu\n", runs ? (double)time / (double)runs : 0, runs,
		verified);
	fprintf(out, "loaded_ms %.3f\nfirst_ms %.3f\nmap_bytes %lu\n", (double)(watch->loaded - watch->start) / 1e6,
		(double)(watch->first - watch->start) / 1e6, watch->map_bytes);
	report_programs(watch, out);
}

static double seconds(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static int report(const struct watch *watch, const char *path, const struct rusage *usage)
{
	FILE *out = fopen(path, "w");

	if (!out)
		die(path);
	fprintf(out, "start_ns %lu\nwall_s %.6f\ncpu_s %.6f\nuser_s %.6f\nrss_bytes %ld\n", watch->start,
		(double)(now() - watch->start) / 1e9, seconds(&usage->ru_utime) + seconds(&usage->ru_stime),
		seconds(&usage->ru_utime), usage->ru_maxrss * 1024);
	if (watch->maps_next || watch->programs_count)
		report_bpf(watch, out);
	return fclose(out) ? 125 : 0;
}

static void nap(uint64_t ns)
{
	struct timespec time = { .tv_nsec = (long)ns };

	nanosleep(&time, NULL);
}

/* Looks until the command has ended. */
static int follow(struct watch *watch, struct rusage *ret)
{
	int status;

	while (wait4(watch->pid, &status, WNOHANG, ret) == 0) {
		look(watch);
		if (now() - watch->start > (uint64_t)MAX_LIFE_S * 1000000000)
			kill(watch->pid, SIGKILL);
		nap(watch->first ? AFTER_NS : BEFORE_NS);
	}
	return status;
}

static void start(struct watch *watch, char **command)
{
	watch->start = now();
	watch->pid = fork();
	if (watch->pid < 0)
		die("fork");
	if (watch->pid == 0) {
		execvp(command[0], command);
		perror(command[0]);
		_exit(127);
	}
}

/* Before anything of the command's: counters on for as long as this lives, ids known, and a look never has to wait. */
static void prepare(struct watch *watch)
{
	struct sched_param param = { .sched_priority = 1 };

	if (bpf_enable_stats(BPF_STATS_RUN_TIME) < 0)
		die("BPF_ENABLE_STATS");
	for (uint32_t id; bpf_prog_get_next_id(watch->last_id, &id) == 0;)
		watch->last_id = id;
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param) && errno != EPERM)
		die("sched_setscheduler");
}

int main(int argc, char **argv)
{
	struct watch watch = { .map_bytes = 0 };
	const char *output = NULL;
	struct rusage usage;
	bool bpf = false;
	int option, status;

	while ((option = getopt(argc, argv, "+bo:")) != -1) {
		if (option == 'b')
			bpf = true;
		else if (option == 'o')
			output = optarg;
		else
			return 2;
	}
	if (!output || optind >= argc)
		return 2;
	if (bpf)
		prepare(&watch);
	start(&watch, argv + optind);
	if (bpf)
		status = follow(&watch, &usage);
	else if (wait4(watch.pid, &status, 0, &usage) < 0)
		die("wait4");
	if (report(&watch, output, &usage))
		die(output);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
