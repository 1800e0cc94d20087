/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads wick's BPF programs and prints a line for each: its name and its tag, which is the kernel's hash of its
 * instructions as they were fitted to this kernel, for tests:
 *
 *   progtags picked|whole
 *
 * picked: fitted by the types that wick picks out of the kernel's; whole: by all of them, as libbpf does it.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "bpf/wire.h"
#include "collect/btf.h"
#include "sampler.skel.h"

static int print_tags(const struct sampler_bpf *skel)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, skel->obj)
	{
		struct bpf_prog_info info = { 0 };
		uint32_t len = sizeof(info);

		if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &len))
			return -errno;
		printf("%s ", bpf_program__name(program));
		for (size_t i = 0; i < sizeof(info.tag); i++)
			printf("%02x", info.tag[i]);
		printf("\n");
	}
	return 0;
}

int main(int argc, char **argv)
{
	autoclose int fd = memfd_create("types", MFD_CLOEXEC);
	char path[64];
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = path);
	bool picked = argc == 2 && !strcmp(argv[1], "picked");
	struct sampler_bpf *skel;
	int err;

	if (!picked && (argc != 2 || strcmp(argv[1], "whole") != 0)) {
		fprintf(stderr, "usage: progtags picked|whole\n");
		return 2;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	skel = sampler_bpf__open_opts(picked ? &options : NULL);
	err = skel ? 0 : -errno;
	if (!err && picked)
		err = btf_pick_running(bpf_object__btf(skel->obj), fd);
	err = err ? err : sampler_bpf__load(skel);
	err = err ? err : print_tags(skel);
	if (err)
		fprintf(stderr, "progtags: %s\n", strerror(-err));
	sampler_bpf__destroy(skel);
	return err != 0;
}
