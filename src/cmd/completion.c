/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a completion script for bash. The script has a fixed frame; what it knows of commands, options and values
 * comes from the tables that parse them, so it cannot differ. Nothing in the tables needs quoting: names and hints are
 * plain words.
 */
#include "cmd/completion.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/file.h"
#include "base/opt.h"
#include "cmd/cmd.h"

static const char head[] =
	"# Completion of wick for bash, as printed by `wick completion bash`.\n"
	"\n"
	"# Items of a list with commas: what was typed before the last one stays.\n"
	"_wick_list() {\n"
	"\tlocal before=\n"
	"\t[[ $2 != *,* ]] || before=${2%,*},\n"
	"\tmapfile -t COMPREPLY < <(compgen -P \"$before\" -W \"$1\" -- \"${2##*,}\")\n"
	"}\n"
	"\n"
	"# What may stand for a value, by its kind: file, dir, pid, cpu, none, or the words themselves.\n"
	"_wick_value() {\n"
	"\tlocal pids cpus\n"
	"\tcase $1 in\n"
	"\tfile | dir)\n"
	"\t\tcompopt -o filenames 2>/dev/null\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -A \"${1/dir/directory}\" -- \"$2\")\n"
	"\t\t;;\n"
	"\tpid)\n"
	"\t\tpids=(/proc/[1-9]*)\n"
	"\t\t_wick_list \"${pids[*]#/proc/}\" \"$2\"\n"
	"\t\t;;\n"
	"\tcpu)\n"
	"\t\tcpus=(/sys/devices/system/cpu/cpu[0-9]*)\n"
	"\t\t_wick_list \"${cpus[*]#/sys/devices/system/cpu/cpu}\" \"$2\"\n"
	"\t\t;;\n"
	"\tnone) ;;\n"
	"\t*) mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$2\") ;;\n"
	"\tesac\n"
	"}\n"
	"\n"
	"_wick() {\n"
	"\tlocal current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} word\n"
	"\tlocal options='' value='' operands=none\n"
	"\tCOMPREPLY=()\n"
	"\t# bash takes --option=value apart\n"
	"\tif [[ $current == = ]]; then\n"
	"\t\tcurrent=\n"
	"\telif [[ $before == = ]] && ((COMP_CWORD > 2)); then\n"
	"\t\tbefore=${COMP_WORDS[COMP_CWORD - 2]}\n"
	"\tfi\n";

static const char tail[] = "\t*) return ;;\n"
			   "\tesac\n"
			   "\tfor word in \"${COMP_WORDS[@]:2:COMP_CWORD-2}\"; do\n"
			   "\t\tif [[ $word == -- ]]; then # behind it is the command to run, and its words\n"
			   "\t\t\tcompopt -o default 2>/dev/null\n"
			   "\t\t\treturn\n"
			   "\t\tfi\n"
			   "\tdone\n"
			   "\tif [[ -n $value ]]; then\n"
			   "\t\t_wick_value \"$value\" \"$current\"\n"
			   "\telif [[ $current == -* ]]; then\n"
			   "\t\tmapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")\n"
			   "\telse\n"
			   "\t\t_wick_value \"$operands\" \"$current\"\n"
			   "\tfi\n"
			   "}\n"
			   "\n"
			   "complete -F _wick wick\n";

static void add_names(const struct command *const *commands, size_t len, struct buf *out)
{
	for (size_t i = 0; i < len; i++)
		buf_addf(out, "%s ", commands[i]->name);
}

static bool is_shown(const struct opt *opt)
{
	return opt->help != NULL;
}

/* "-p|--pid) value=pid ;;" for each option that has a value. */
static void add_values(const struct opt *table, struct buf *out)
{
	buf_adds(out, "\t\tcase $before in\n");
	for (const struct opt *opt = table; opt->letter || opt->name; opt++) {
		if (!is_shown(opt) || !opt->value)
			continue;
		buf_adds(out, "\t\t");
		if (opt->letter)
			buf_addf(out, "-%c%s", opt->letter, opt->name ? " | " : "");
		if (opt->name)
			buf_addf(out, "--%s", opt->name);
		buf_addf(out, ") value='%s' ;;\n", opt->hint ? opt->hint : "none");
	}
	buf_adds(out, "\t\tesac\n");
}

static void add_command(const struct command *command, struct buf *out)
{
	buf_addf(out, "\t%s)\n\t\toptions='", command->name);
	for (const struct opt *opt = command->options; opt->letter || opt->name; opt++) {
		if (is_shown(opt) && opt->letter)
			buf_addf(out, "-%c ", opt->letter);
		if (is_shown(opt) && opt->name)
			buf_addf(out, "--%s ", opt->name);
	}
	buf_adds(out, "-h --help'\n");
	if (strstr(command->usage, "FILE"))
		buf_adds(out, "\t\toperands='file'\n");
	add_values(command->options, out);
	buf_adds(out, "\t\t;;\n");
}

static void add_script(const struct command *const *commands, size_t len, struct buf *out)
{
	buf_adds(out, head);
	buf_adds(out, "\tif ((COMP_CWORD == 1)); then\n\t\t_wick_value '");
	add_names(commands, len, out);
	buf_adds(out, "completion help version --help --version' \"$current\"\n\t\treturn\n\tfi\n"
		      "\tcase ${COMP_WORDS[1]} in\n\thelp) operands='");
	add_names(commands, len, out);
	buf_adds(out, "' ;;\n\tcompletion) operands=bash ;;\n");
	for (size_t i = 0; i < len; i++)
		add_command(commands[i], out);
	buf_adds(out, tail);
}

int completion_run(const struct command *const *commands, size_t len, int argc, char **argv)
{
	autobuf struct buf out = { 0 };
	int err;

	if (argc != 2 || strcmp(argv[1], "bash")) {
		fail_plain(-EINVAL, "completion: of which shell?");
		fail_hint(-EINVAL, "there is wick completion bash");
		return command_failed(EXIT_USAGE);
	}
	add_script(commands, len, &out);
	if (buf_error(&out)) {
		fail(buf_error(&out), "writing the completion");
		return command_failed(EXIT_MACHINE);
	}
	err = file_write_all(STDOUT_FILENO, out.data, out.len);
	if (!err || err == -EPIPE)
		return EXIT_DONE;
	fail(err, "writing the completion");
	return command_failed(EXIT_MACHINE);
}
