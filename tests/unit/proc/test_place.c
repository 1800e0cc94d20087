/* SPDX-License-Identifier: Apache-2.0 */
/* Cgroup paths as systemd, container runtimes and Kubernetes make them, and as anyone may. */
#include "proc/place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2 "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define UID "2c48913c-b29f-11e7-9350-020968147796"
#define UID_ "2c48913c_b29f_11e7_9350_020968147796"
#define USER "/user.slice/user-1000.slice/user@1000.service"
#define BURST "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice"

static const struct row {
	const char *path, *unit, *runtime, *container, *pod;
} rows[] = {
	/* systemd */
	{ "/", "", "", "", "" },
	{ "", "", "", "", "" },
	{ "/init.scope", "init.scope", "", "", "" },
	{ "/system.slice/nginx.service", "nginx.service", "", "", "" },
	{ "/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service", "", "", "" },
	{ "/system.slice/nginx.service/worker", "nginx.service", "", "", "" },
	{ "/system.slice/old.service (deleted)", "old.service", "", "", "" },
	{ "/user.slice/user-1000.slice/session-3.scope", "session-3.scope", "", "", "" },
	{ USER "/init.scope", "init.scope", "", "", "" },
	{ USER "/app.slice/app-gnome-firefox-123.scope", "app-gnome-firefox-123.scope", "", "", "" },
	{ USER, "user@1000.service", "", "", "" },
	{ "/system.slice", "", "", "", "" },
	/* Docker, both drivers, nested */
	{ "/docker/" ID, "", "docker", ID, "" },
	{ "/system.slice/docker-" ID ".scope", "", "docker", ID, "" },
	{ "/system.slice/docker-" ID ".scope/system.slice/cron.service", "cron.service", "docker", ID, "" },
	{ "/docker/" ID "/docker/" ID2, "", "docker", ID2, "" },
	{ "/system.slice/docker.service", "docker.service", "", "", "" },
	{ "/docker/buildkit/k1l2m3n4o5", "", "buildkit", "k1l2m3n4o5", "" },
	{ "/actions_job/" ID, "", "", ID, "" },
	/* Kubernetes */
	{ BURST "/cri-containerd-" ID ".scope", "", "containerd", ID, UID },
	{ BURST "/crio-" ID ".scope", "", "crio", ID, UID },
	{ BURST "/crio-" ID ".scope/container", "", "crio", ID, UID },
	{ BURST "/crio-conmon-" ID ".scope", "crio-conmon-" ID ".scope", "", "", UID },
	{ BURST "/docker-" ID ".scope", "", "docker", ID, UID },
	{ BURST, "", "", "", UID },
	{ "/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" ID ".scope", "", "containerd", ID, UID },
	{ "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod" UID_
	  ".slice/cri-containerd-" ID ".scope",
	  "", "containerd", ID, UID },
	{ "/kubepods/besteffort/pod" UID "/" ID, "", "kubernetes", ID, UID },
	{ "/kubepods/pod" UID "/crio-" ID, "", "crio", ID, UID },
	{ "/kubepods/burstable/poda1b2c3d4a1b2c3d4a1b2c3d4a1b2c3d4/" ID, "", "kubernetes", ID,
	  "a1b2c3d4a1b2c3d4a1b2c3d4a1b2c3d4" },
	{ "/system.slice/containerd.service/kubepods-burstable-pod" UID_ ".slice:cri-containerd:" ID,
	  "containerd.service", "containerd", ID, UID },
	{ "/system.slice/k3s.service/kubepods/burstable/pod" UID "/" ID, "k3s.service", "kubernetes", ID, UID },
	{ "/docker/" ID2 "/kubelet/kubepods/besteffort/pod" UID "/" ID, "", "kubernetes", ID, UID },
	{ "/k8s.io/" ID, "", "containerd", ID, "" },
	/* Podman */
	{ "/machine.slice/libpod-" ID ".scope/container", "", "podman", ID, "" },
	{ USER "/user.slice/libpod-" ID ".scope", "user@1000.service", "podman", ID, "" },
	{ "/system.slice/web.service/libpod-payload-" ID, "web.service", "podman", ID, "" },
	{ "/machine.slice/libpod-conmon-" ID ".scope", "libpod-conmon-" ID ".scope", "", "", "" },
	{ "/libpod_parent/libpod-" ID, "", "podman", ID, "" },
	/* LXC, nspawn, libvirt */
	{ "/lxc/web", "", "lxc", "web", "" },
	{ "/lxc.payload.web/system.slice/nginx.service", "nginx.service", "lxc", "web", "" },
	{ "/lxc.payload/web", "", "lxc", "web", "" },
	{ "/lxc.monitor.web", "", "", "", "" },
	{ "/machine.slice/machine-web\\x2d1.scope", "", "systemd-nspawn", "web-1", "" },
	{ "/machine.slice/systemd-nspawn@web.service/payload/init.scope", "init.scope", "systemd-nspawn", "web", "" },
	{ "/machine.slice/machine-qemu\\x2d7\\x2dvm.scope/libvirt", "", "qemu", "7-vm", "" },
	/* ECS */
	{ "/ecs/0123456789abcdef0123456789abcdef/0123456789abcdef0123456789abcdef-1234567", "", "ecs",
	  "0123456789abcdef0123456789abcdef-1234567", "" },
	{ "/ecs/cluster/0123456789abcdef0123456789abcdef/" ID, "", "ecs", ID, "" },
	{ "/ecstasks.slice/ecstasks-0123456789abcdef0123456789abcdef.slice/docker-" ID ".scope", "", "docker", ID, "" },
	/* Nearly so */
	{ "/docker/0123456789abcdef", "", "", "", "" },
	{ "/system.slice/docker-xyz.scope", "docker-xyz.scope", "", "", "" },
	{ "/kubepods/pod2c48913c-b29f-11e7-9350", "", "", "", "" },
	{ "/kubepods.slice/kubepods-pod.slice", "", "", "", "" },
	{ "/.service/.scope", "", "", "", "" },
	{ "////", "", "", "", "" },
	{ "/a:b:c", "", "", "", "" },
	{ "/" ID "0", "", "", "", "" },
	{ "/../../system.slice/a.service", "a.service", "", "", "" },
};

static void test_paths(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct place place;

		memset(&place, 'x', sizeof(place));
		place_of(row->path, strlen(row->path), &place);
		if (strcmp(place.unit, row->unit) || strcmp(place.runtime, row->runtime) ||
		    strcmp(place.container, row->container) || strcmp(place.pod, row->pod))
			print_message("%s: unit '%s', runtime '%s', container '%s', pod '%s'\n", row->path, place.unit,
				      place.runtime, place.container, place.pod);
		assert_string_equal(place.unit, row->unit);
		assert_string_equal(place.runtime, row->runtime);
		assert_string_equal(place.container, row->container);
		assert_string_equal(place.pod, row->pod);
	}
}

/* What does not fit is left out, not cut: half an id is another id. */
static void test_too_long(void **state)
{
	struct place place;
	char path[600];

	(void)state;
	memset(path, 'a', sizeof(path));
	memcpy(path, "/lxc/", 5);
	place_of(path, sizeof(path), &place);
	assert_string_equal(place.container, "");
	assert_string_equal(place.runtime, "");
	memcpy(path + sizeof(path) - 8, ".service", 8);
	path[4] = 'x';
	place_of(path, sizeof(path), &place);
	assert_string_equal(place.unit, "");
}

static void test_length_is_obeyed(void **state)
{
	struct place place;

	(void)state;
	place_of("/system.slice/a.service.d", 23, &place);
	assert_string_equal(place.unit, "a.service");
	place_of(NULL, 0, &place);
	assert_string_equal(place.unit, "");
}

#define BYTES(text) (sizeof(text) - 1)

/* What root has named, of each path, and who has named the rest. */
static const struct {
	const char *path;
	size_t root_len;
	uint32_t owner;
	const char *unit, *user_unit, *runtime, *container, *pod;
} named[] = {
	{ USER, BYTES(USER), 1000, "user@1000.service", "", "", "", "" },
	{ USER "/init.scope", BYTES(USER), 1000, "user@1000.service", "1000/init.scope", "", "", "" },
	{ USER "/app.slice/app-gnome-firefox-123.scope", BYTES(USER), 1000, "user@1000.service",
	  "1000/app-gnome-firefox-123.scope", "", "", "" },
	{ USER "/user.slice/libpod-" ID ".scope", BYTES(USER), 1000, "user@1000.service", "", "podman", "1000/" ID,
	  "" },
	{ USER "/docker-" ID ".scope/sshd.service", BYTES(USER), 1000, "user@1000.service", "1000/sshd.service",
	  "docker", "1000/" ID, "" },
	{ USER BURST "/cri-containerd-" ID ".scope", BYTES(USER), 1000, "user@1000.service", "", "containerd",
	  "1000/" ID, "1000/" UID },
	{ USER "/lxc/1000", BYTES(USER), 4294967294, "user@1000.service", "", "lxc", "4294967294/1000", "" },
	/* Nobody knows whose */
	{ USER "/docker-" ID ".scope", BYTES(USER), PLACE_UNKNOWN, "user@1000.service", "", "", "", "" },
	{ USER "/docker-" ID ".scope", 0, PLACE_UNKNOWN, "", "", "", "", "" },
	{ "/sshd.service", 0, 1000, "", "1000/sshd.service", "", "", "" },
	/* What root named stands */
	{ "/docker/" ID "/docker/" ID2, BYTES("/docker/" ID), 100000, "", "", "docker", ID, "" },
	{ BURST "/crio-" ID ".scope/pod" UID "/" ID2, BYTES(BURST "/crio-" ID ".scope"), 100000, "", "", "crio", ID,
	  UID },
	{ BURST "/" ID2, BYTES(BURST), 100000, "", "", "kubernetes", "100000/" ID2, UID },
	{ "/lxc.payload.web/system.slice/nginx.service", BYTES("/lxc.payload.web"), 100000, "", "100000/nginx.service",
	  "lxc", "web", "" },
	/* Folders of root's, left to a user */
	{ "/lxc/web", BYTES("/lxc"), 1000, "", "", "lxc", "1000/web", "" },
	{ "/system.slice/a.service (deleted)", BYTES("/system.slice"), 7, "", "7/a.service", "", "", "" },
	/* A name that would look like a user's */
	{ "/machine.slice/machine-1000\\x2fweb.scope", 99, PLACE_UNKNOWN, "", "", "", "", "" },
};

static void test_whose_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
		const struct place_names names = { named[i].root_len, named[i].owner };
		struct place place;

		memset(&place, 'x', sizeof(place));
		place_named(named[i].path, strlen(named[i].path), &names, &place);
		if (strcmp(place.unit, named[i].unit) || strcmp(place.container, named[i].container))
			print_message("%s: unit '%s', container '%s'\n", named[i].path, place.unit, place.container);
		assert_string_equal(place.unit, named[i].unit);
		assert_string_equal(place.user_unit, named[i].user_unit);
		assert_string_equal(place.runtime, named[i].runtime);
		assert_string_equal(place.container, named[i].container);
		assert_string_equal(place.pod, named[i].pod);
	}
}

/* A name that fits by itself, but not with the user before it. */
static void test_whose_long_names(void **state)
{
	const struct place_names names = { 0, 1000 };
	struct place place;
	char path[5 + 125];

	(void)state;
	memset(path, 'a', sizeof(path));
	memcpy(path, "/lxc/", 5);
	place_named(path, 5 + 122, &names, &place);
	assert_int_equal(strlen(place.container), 127);
	place_named(path, 5 + 123, &names, &place);
	assert_string_equal(place.container, "");
	assert_string_equal(place.runtime, "");
}

static void test_short(void **state)
{
	char text[64], few[5];

	(void)state;
	place_short(ID, text, sizeof(text));
	assert_string_equal(text, "0123456789ab");
	place_short("0123456789abcdef0123456789abcdef-1234567", text, sizeof(text));
	assert_string_equal(text, "0123456789ab");
	place_short("1000/" ID, text, sizeof(text));
	assert_string_equal(text, "1000/0123456789ab");
	place_short("1000/web", text, sizeof(text));
	assert_string_equal(text, "1000/web");
	place_short("web-1", text, sizeof(text));
	assert_string_equal(text, "web-1");
	place_short("", text, sizeof(text));
	assert_string_equal(text, "");
	place_short("long-name", few, sizeof(few));
	assert_string_equal(few, "long");
	few[0] = 'x';
	place_short("long-name", few, 0);
	assert_int_equal(few[0], 'x');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_length_is_obeyed),
		cmocka_unit_test(test_whose_names),
		cmocka_unit_test(test_whose_long_names),
		cmocka_unit_test(test_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
