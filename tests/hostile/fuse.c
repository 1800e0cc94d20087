/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file system whose owner does not answer: an overlay over a FUSE of one's own, in user and mount name spaces of its
 * own, with a program in it that runs. What the program itself needs is answered; a request of the kind that the mode
 * names, made by somebody else, is read and never answered, so that whoever made it waits in the kernel for ever.
 *
 *   fuse DEVICE FOLDER SECONDS PROGRAM MODE TEST
 *
 * DEVICE is a /dev/fuse, FOLDER an empty one. PROGRAM is linked statically; it is run as MODE, in a root that is the
 * overlay. Only descendants of the process TEST are kept waiting, and orphans: other tests may run on the machine.
 * Modes: open, getattr, read, flush, lookup, readlink, statfs keep such requests waiting; `all` every one; `exec` is
 * open, for programs that begin, one a second, each a file of its own; `lock` and `maps` keep the program's own lock of
 * its mappings taken, so that who looks at them in /proc waits: one thread waits for a page of the FUSE, one changes
 * mappings, one runs.
 * Prints `ready`, and for each request kept waiting `waits OPCODE PID`. Gives up after so many seconds.
 */
#include <linux/fuse.h>
#include <pthread.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "hostile/elf.h"

#define OWN_PIDS 16
#define NODE_ROOT 1
#define NODE_FOLDER 2
#define NODE_LINK 3
#define NODE_PROGRAM 16 /* and all above it: copies of it, each a file of its own */
#define NODE_TRAP 15    /* a file whose second page is never there */
#define TRAP_SIZE 0x10000
#define REQUEST_MAX (1 << 17)

struct shared {
	pid_t own[OWN_PIDS]; /* whose requests are answered */
	unsigned int own_next;
	unsigned int trapped; /* pages of the trap that were asked for */
	unsigned int opened;  /* the trap */
};

struct daemon {
	int fd;
	const char *mode;
	pid_t test;
	const char *program;
	size_t program_len;
	struct shared *shared;
	char request[REQUEST_MAX];
};

static void own_pid(struct shared *shared, pid_t pid)
{
	shared->own[__atomic_fetch_add(&shared->own_next, 1, __ATOMIC_SEQ_CST) % OWN_PIDS] = pid;
}

static bool is_own(const struct shared *shared, pid_t pid)
{
	for (size_t i = 0; i < OWN_PIDS; i++)
		if (shared->own[i] == pid)
			return true;
	return false;
}

static pid_t parent_of(pid_t pid)
{
	char path[64], line[512], *close;
	FILE *file;
	long parent = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (fgets(line, sizeof(line), file) && (close = strrchr(line, ')')) && close[1] && close[2])
		parent = strtol(close + 3, NULL, 10);
	fclose(file);
	return (pid_t)parent;
}

/* Of the test that started us, or left alone by whoever started it. */
static bool is_meant(const struct daemon *daemon, pid_t pid)
{
	pid_t parent = parent_of(pid);

	if (parent <= 1)
		return true;
	for (int i = 0; i < 64 && pid > 1; i++, pid = parent_of(pid))
		if (pid == daemon->test)
			return true;
	return false;
}

static const char *name_of(uint32_t opcode)
{
	switch (opcode) {
	case FUSE_OPEN:
		return "open";
	case FUSE_GETATTR:
		return "getattr";
	case FUSE_READ:
		return "read";
	case FUSE_FLUSH:
		return "flush";
	case FUSE_LOOKUP:
		return "lookup";
	case FUSE_READLINK:
		return "readlink";
	case FUSE_STATFS:
		return "statfs";
	default:
		return "other";
	}
}

static bool is_kept_waiting(const struct daemon *daemon, const struct fuse_in_header *in)
{
	const char *mode = daemon->mode;

	if (in->opcode == FUSE_INIT || in->opcode == FUSE_RELEASE || is_own(daemon->shared, (pid_t)in->pid))
		return false;
	if (strcmp(mode, "all") != 0 && strcmp(mode, name_of(in->opcode)) != 0 &&
	    !(!strcmp(mode, "exec") && in->opcode == FUSE_OPEN))
		return false;
	if (!in->pid || !is_meant(daemon, (pid_t)in->pid))
		return false;
	printf("waits %s %u\n", name_of(in->opcode), in->pid);
	return true;
}

static void answer(const struct daemon *daemon, const struct fuse_in_header *in, int err, const void *data, size_t len)
{
	struct fuse_out_header out = { .len = (uint32_t)(sizeof(out) + len), .error = err, .unique = in->unique };
	struct iovec parts[2] = { { &out, sizeof(out) }, { (void *)data, len } };

	if (writev(daemon->fd, parts, 2) < 0 && errno != ENOENT)
		die("answering");
}

static struct fuse_attr attr_of(const struct daemon *daemon, uint64_t node)
{
	struct fuse_attr attr = { .ino = node, .nlink = 1, .mode = S_IFDIR | 0755, .blksize = 4096 };

	if (node == NODE_LINK)
		attr.mode = S_IFLNK | 0777;
	if (node == NODE_TRAP || node >= NODE_PROGRAM)
		attr.mode = S_IFREG | 0755;
	attr.size = node == NODE_TRAP ? TRAP_SIZE : node >= NODE_PROGRAM ? daemon->program_len : 4096;
	return attr;
}

/* Folders and links to where debug files and maps are looked for; programs by their number. */
static void do_lookup(const struct daemon *daemon, const struct fuse_in_header *in, const char *name)
{
	static const char *const folders[] = { "usr", "lib", "debug", ".build-id", "tmp", ".debug" };
	struct fuse_entry_out out = { 0 };

	if (!strncmp(name, "program", 7))
		out.nodeid = NODE_PROGRAM + strtoul(name + 7, NULL, 10);
	else if (!strcmp(name, "trap"))
		out.nodeid = NODE_TRAP;
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders) && !out.nodeid; i++)
		if (!strcmp(name, folders[i]))
			out.nodeid = !strcmp(daemon->mode, "readlink") ? NODE_LINK : NODE_FOLDER;
	out.attr = attr_of(daemon, out.nodeid);
	answer(daemon, in, out.nodeid ? 0 : -ENOENT, &out, out.nodeid ? sizeof(out) : 0);
}

/* The second page of the trap is never there; for `lock` it cannot be read the first time. */
static bool is_trapped(const struct daemon *daemon, const struct fuse_in_header *in, const struct fuse_read_in *read)
{
	if (in->nodeid != NODE_TRAP || read->offset + read->size <= 4096)
		return false;
	if (!__atomic_fetch_add(&daemon->shared->trapped, 1, __ATOMIC_SEQ_CST) && !strcmp(daemon->mode, "lock"))
		answer(daemon, in, -EIO, NULL, 0);
	return true;
}

static void do_read(const struct daemon *daemon, const struct fuse_in_header *in, const struct fuse_read_in *read)
{
	static const char zeroes[TRAP_SIZE];
	const char *from = in->nodeid == NODE_TRAP ? zeroes : daemon->program;
	size_t size = in->nodeid == NODE_TRAP ? TRAP_SIZE : daemon->program_len, len = read->size;

	if (is_trapped(daemon, in, read))
		return;
	if (read->offset >= size)
		len = 0;
	else if (len > size - read->offset)
		len = size - read->offset;
	answer(daemon, in, 0, len ? from + read->offset : NULL, len);
}

/* Whoever maps a file that is not to be cached waits until its pages are gone from memory. */
static void do_open(const struct daemon *daemon, const struct fuse_in_header *in)
{
	struct fuse_open_out out = { .open_flags = FOPEN_KEEP_CACHE };

	if (in->nodeid == NODE_TRAP && daemon->shared->opened++)
		out.open_flags = FOPEN_DIRECT_IO;
	answer(daemon, in, 0, &out, sizeof(out));
}

static void do_init(const struct daemon *daemon, const struct fuse_in_header *in)
{
	/* nothing is read ahead: what the program does not touch is not in memory */
	struct fuse_init_out out = { .major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096, .time_gran = 1 };

	answer(daemon, in, 0, &out, sizeof(out));
}

static void serve_one(const struct daemon *daemon)
{
	const struct fuse_in_header *in = (const void *)daemon->request;
	const void *arg = in + 1;
	struct fuse_attr_out attr = { .attr = attr_of(daemon, in->nodeid) };
	struct fuse_statfs_out statfs = { .st = { .bsize = 4096, .namelen = 255, .frsize = 4096 } };

	if (in->opcode == FUSE_FORGET || in->opcode == FUSE_BATCH_FORGET || in->opcode == FUSE_INTERRUPT ||
	    is_kept_waiting(daemon, in))
		return;
	switch (in->opcode) {
	case FUSE_INIT:
		return do_init(daemon, in);
	case FUSE_LOOKUP:
		return do_lookup(daemon, in, arg);
	case FUSE_GETATTR:
		return answer(daemon, in, 0, &attr, sizeof(attr));
	case FUSE_READLINK:
		return answer(daemon, in, 0, "elsewhere", 9);
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		return do_open(daemon, in);
	case FUSE_READ:
		return do_read(daemon, in, arg);
	case FUSE_READDIR:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_FLUSH:
	case FUSE_ACCESS:
		return answer(daemon, in, 0, NULL, 0);
	case FUSE_STATFS:
		return answer(daemon, in, 0, &statfs, sizeof(statfs));
	default:
		return answer(daemon, in, -ENOSYS, NULL, 0);
	}
}

static void serve(struct daemon *daemon)
{
	for (;;) {
		ssize_t got = read(daemon->fd, daemon->request, sizeof(daemon->request));

		if (got < 0 && errno == ENODEV)
			exit(0);
		if (got < 0 && errno != EINTR && errno != ENOENT)
			die("reading requests");
		if (got > 0)
			serve_one(daemon);
	}
}

/* Mounts the FUSE and, once it is served, the overlay over it; its path in `over`. */
static void mount_all(struct daemon *daemon, const char *device, const char *folder, char *over, size_t over_len)
{
	char fuse[PATH_MAX / 4], empty[PATH_MAX / 4], options[PATH_MAX];

	snprintf(fuse, sizeof(fuse), "%s/fuse", folder);
	snprintf(empty, sizeof(empty), "%s/empty", folder);
	snprintf(over, over_len, "%s/over", folder);
	if (mkdir(fuse, 0755) || mkdir(empty, 0755) || mkdir(over, 0755))
		die("mkdir");
	daemon->fd = open(device, O_RDWR | O_CLOEXEC);
	if (daemon->fd < 0)
		die(device);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", daemon->fd);
	if (mount("fuse", fuse, "fuse", MS_NOSUID | MS_NODEV, options))
		die("mounting a FUSE");
	if (!child())
		serve(daemon);
	close(daemon->fd);
	snprintf(options, sizeof(options), "lowerdir=%s:%s", fuse, empty);
	if (mount("overlay", over, "overlay", MS_NOSUID | MS_NODEV, options))
		die("mounting an overlay");
}

/* The program of the overlay with this number, as a child. */
static pid_t run_program(struct daemon *daemon, unsigned int number, const char *argument)
{
	char path[64];
	pid_t pid = child();

	if (pid)
		return pid;
	own_pid(daemon->shared, getpid());
	snprintf(path, sizeof(path), "/program%u", number);
	execl(path, daemon->mode, argument, NULL);
	die(path);
}

/* Until the thread waits in the kernel for what cannot be interrupted. */
static void wait_until_stuck(pid_t tid)
{
	char path[64], line[512], *close;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	for (;;) {
		FILE *file = fopen(path, "r");

		if (!file)
			die(path);
		if (fgets(line, sizeof(line), file) && (close = strrchr(line, ')')) && close[2] == 'D') {
			fclose(file);
			return;
		}
		fclose(file);
		usleep(1000);
	}
}

struct stuck {
	struct shared *shared;
	volatile char *trap;
	int direct;            /* it, not cached */
	void *place;           /* where it is mapped then; NULL: something else is */
	pid_t toucher, mapper; /* when they have begun */
	bool taken;            /* the lock */
};

static void *touch(void *arg)
{
	struct stuck *stuck = arg;

	own_pid(stuck->shared, gettid());
	__atomic_store_n(&stuck->toucher, gettid(), __ATOMIC_SEQ_CST);
	(void)stuck->trap[4096];
	return NULL;
}

static void *map_more(void *arg)
{
	struct stuck *stuck = arg;

	__atomic_store_n(&stuck->mapper, gettid(), __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&stuck->taken, __ATOMIC_SEQ_CST))
		usleep(1000);
	if (stuck->place)
		mmap(stuck->place, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, stuck->direct, 0);
	else
		mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return NULL;
}

static void begin(void *(*work)(void *), struct stuck *stuck, const pid_t *tid)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, stuck))
		die("pthread_create");
	while (!__atomic_load_n(tid, __ATOMIC_SEQ_CST))
		usleep(1000);
}

static void *map_trap(struct stuck *stuck, const char *folder)
{
	char path[PATH_MAX / 2];
	void *at;
	int fd;

	snprintf(path, sizeof(path), "%s/fuse/trap", folder);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	stuck->direct = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || stuck->direct < 0)
		die(path);
	at = mmap(NULL, TRAP_SIZE, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		die("mmap");
	return at;
}

/*
 * lock: the second time that a page is not there, the kernel waits for it with the lock of all mappings held; who wants
 * to change mappings waits for the lock, and so does everybody who comes later to look at them. maps: who maps the file
 * in the place of something waits for its pages while he changes the mappings, and who lists them waits for him.
 * The code that runs meanwhile is of an ordinary file.
 */
static void hold_lock(struct daemon *daemon, const char *folder)
{
	bool maps = !strcmp(daemon->mode, "maps");
	struct stuck stuck = { .shared = daemon->shared };
	char path[PATH_MAX / 2];
	struct elf elf;
	unsigned char *code;

	stuck.trap = map_trap(&stuck, folder);
	if (maps)
		stuck.place = mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	snprintf(path, sizeof(path), "%s/%s.so", folder, daemon->mode);
	elf_begin(&elf, 0x1000);
	elf_fde(&elf, ELF_CODE, 0x100, "", 0);
	elf_end(&elf, 0, 0, elf.head_len);
	code = elf_map(elf_write(&elf, path, ELF_CODE, elf_spin, sizeof(elf_spin)), ELF_CODE, 0x1000);
	begin(map_more, &stuck, &stuck.mapper);
	begin(touch, &stuck, &stuck.toucher);
	while (__atomic_load_n(&daemon->shared->trapped, __ATOMIC_SEQ_CST) < (maps ? 1 : 2))
		usleep(1000);
	__atomic_store_n(&stuck.taken, true, __ATOMIC_SEQ_CST);
	wait_until_stuck(stuck.mapper);
	say_ready();
	elf_call(code, 1);
}

static char *read_program(const char *path, size_t *ret_len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat stat;
	char *bytes;

	if (fd < 0 || fstat(fd, &stat))
		die(path);
	bytes = malloc((size_t)stat.st_size);
	if (!bytes || read(fd, bytes, (size_t)stat.st_size) != stat.st_size)
		die(path);
	close(fd);
	*ret_len = (size_t)stat.st_size;
	return bytes;
}

int main(int argc, char **argv)
{
	static struct daemon daemon;
	char over[PATH_MAX / 4];

	if (argc != 7)
		return 2;
	prog_begin();
	alarm((unsigned int)atoi(argv[3]));
	daemon.mode = argv[5];
	daemon.test = atoi(argv[6]);
	daemon.program = read_program(argv[4], &daemon.program_len);
	daemon.shared = mmap(NULL, sizeof(*daemon.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (daemon.shared == MAP_FAILED)
		die("mmap");
	prctl(PR_SET_NAME, "h-owner"); /* what runs is the program */
	enter_name_spaces();
	own_pid(daemon.shared, getpid());
	mount_all(&daemon, argv[1], argv[2], over, sizeof(over));
	if (!strcmp(daemon.mode, "lock") || !strcmp(daemon.mode, "maps")) {
		prctl(PR_SET_NAME, daemon.mode[0] == 'l' ? "h-lock" : "h-maps");
		hold_lock(&daemon, argv[2]);
	}
	if (chroot(over) || chdir("/"))
		die("chroot");
	if (!strcmp(daemon.mode, "exec"))
		for (unsigned int i = 0;; i++) {
			waitpid(run_program(&daemon, i, "0"), NULL, 0);
			say_ready();
			sleep(1);
		}
	run_program(&daemon, 0, NULL);
	say_ready();
	wait(NULL);
	return 1;
}
