/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells who opens files: watch FILE... prints `ready`, and then `opened FILE by COMM` for each time that one is opened
 * to be read, until killed. Run as root; handles that only name a file (O_PATH) are not told of.
 */
#include <sys/fanotify.h>
#include <sys/stat.h>

#include "hostile/hostile.h"

static void comm_of(pid_t pid, char *ret, size_t len)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	file = fopen(path, "r");
	if (!file || !fgets(ret, (int)len, file))
		snprintf(ret, len, "?");
	ret[strcspn(ret, "\n")] = 0;
	if (file)
		fclose(file);
}

/* Which of the files it is, by its inode: its path may be one that we do not see. */
static const char *which(int fd, char **files)
{
	struct stat event, known;

	if (fstat(fd, &event))
		return "?";
	for (; *files; files++)
		if (!stat(*files, &known) && known.st_dev == event.st_dev && known.st_ino == event.st_ino)
			return *files;
	return "?";
}

int main(int argc, char **argv)
{
	struct fanotify_event_metadata events[64];
	int fan = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC, O_RDONLY | O_CLOEXEC);

	if (fan < 0)
		die("fanotify_init");
	prog_begin();
	for (int i = 1; i < argc; i++)
		/* a handle keeps what is watched in memory: files of procfs are made when they are asked for */
		if (open(argv[i], O_PATH | O_CLOEXEC) < 0 ||
		    fanotify_mark(fan, FAN_MARK_ADD, FAN_OPEN, AT_FDCWD, argv[i]))
			die(argv[i]);
	say_ready();
	for (;;) {
		ssize_t len = read(fan, events, sizeof(events));

		if (len < 0)
			die("read");
		for (struct fanotify_event_metadata *at = events; FAN_EVENT_OK(at, len); at = FAN_EVENT_NEXT(at, len)) {
			char comm[32];

			comm_of(at->pid, comm, sizeof(comm));
			printf("opened %s by %s\n", which(at->fd, argv + 1), comm);
			close(at->fd);
		}
	}
}
