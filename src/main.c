/* SPDX-License-Identifier: Apache-2.0 */
/* The command table and dispatch, nothing else. */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "base/rights.h"
#include "cmd/cmd.h"
#include "cmd/completion.h"

static const struct command *const commands[] = {
	&command_record, &command_profile, &command_report, &command_convert,
	&command_merge,  &command_diff,    &command_serve,  &command_sql,
};

#define LARGE (1 << 20)
#define COMMANDS (sizeof(commands) / sizeof(*commands))

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

static int help(FILE *to)
{
	fputs("wick: where is the time going, and how did it get there?\n\nusage: wick COMMAND [OPTION]...\n\n", to);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(to, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
	fputs("\nexamples:\n"
	      "  wick record 10                             the whole machine for ten seconds\n"
	      "  wick record -p PID 30                      one process\n"
	      "  wick record -- make -j4                    a command and all it starts\n"
	      "  wick help record                           what record can do\n"
	      "  source <(wick completion bash)             completion in this shell\n",
	      to);
	return to == stdout ? EXIT_DONE : EXIT_USAGE;
}

static int version(void)
{
#ifdef WICK_STATIC
	puts("wick " WICK_RELEASE " (static: nothing is left out)");
#else
	puts("wick " WICK_RELEASE);
#endif
	return EXIT_DONE;
}

int main(int argc, char **argv)
{
	const struct command *command;
	const char *name = argc > 1 ? argv[1] : NULL;

	mallopt(M_MMAP_THRESHOLD, LARGE);   /* without it, what is freed of large tables stays with the process */
	signal(SIGPIPE, SIG_IGN);           /* a reader that leaves is an error of the write, said like any other */
	command = name ? find(name) : NULL; /* before anything is read, help and versions too */
	if (!(command && command->samples) && rights_drop())
		return command_failed(EXIT_MACHINE);
	if (!name)
		return help(stderr);
	if (!strcmp(name, "--version") || !strcmp(name, "version"))
		return version();
	if (!strcmp(name, "--help") || !strcmp(name, "-h") || (!strcmp(name, "help") && argc == 2))
		return help(stdout);
	if (!strcmp(name, "completion"))
		return completion_run(commands, COMMANDS, argc - 1, argv + 1);
	command = find(!strcmp(name, "help") ? argv[2] : name);
	if (!command) {
		fail_plain(0, "'%s' is not a command", !strcmp(name, "help") ? argv[2] : name);
		fail_hint(0, "wick --help lists them");
		return command_failed(EXIT_USAGE);
	}
	return strcmp(name, "help") ? command->run(command, argc - 1, argv + 1) : command_help(command);
}
