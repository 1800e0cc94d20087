/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drops, lowers and restores rights. In: what the kernel says about this process. Out: credentials of this thread.
 * Invariant: no function here gives a right that the process did not have when it was called; rights_restore gives back
 * what the call before it took, and nothing more.
 */
#include "base/rights.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/text.h"

#define BIT(capability) (UINT64_C(1) << (capability))
/* Of no use with a path, or asked for by what a path leads to: a pinned map, a socket. */
#define KEPT_LOWERED (BIT(CAP_NET_BIND_SERVICE) | BIT(CAP_PERFMON) | BIT(CAP_BPF))

static int get_capabilities(struct __user_cap_data_struct ret[_LINUX_CAPABILITY_U32S_3])
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &head, ret) ? -errno : 0;
}

static int set_capabilities(const struct __user_cap_data_struct *data)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capset, &head, data) ? -errno : 0;
}

bool rights_elevated(void)
{
	/*
	 * The kernel's own word for it: set where exec changed the user or gave capabilities by the file. Not for root,
	 * nor for a service that its manager gave ambient capabilities: those have the same rights in any program.
	 */
	return getauxval(AT_SECURE);
}

uid_t rights_user(void)
{
	return rights_elevated() ? getuid() : geteuid();
}

int rights_drop(void)
{
	static const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3];
	uid_t uid = getuid();
	gid_t gid = getgid();
	int err = 0;

	/* Root as such keeps its rights: they are not wick's gift, and root's own files are read with them. */
	if (!rights_elevated() && !uid && !geteuid())
		return 0;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (rights_elevated() && (setresgid(gid, gid, gid) || setresuid(uid, uid, uid)))
		err = -errno;
	err = err ? err : set_capabilities(none);
	return err ? fail(err, "giving up capabilities") : 0;
}

/* The kernel says nothing when it refuses. */
static int set_file_user(uid_t uid, gid_t gid)
{
	setfsgid(gid);
	setfsuid(uid);
	return setfsuid((uid_t)-1) == (int)uid && setfsgid((gid_t)-1) == (int)gid ? 0 : -EPERM;
}

static int save(struct rights *ret, struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3])
{
	int err = get_capabilities(data);

	*ret = (struct rights){ .changed = !err,
				.fsuid = (uid_t)setfsuid((uid_t)-1),
				.fsgid = (gid_t)setfsgid((gid_t)-1),
				.effective = { data[0].effective, data[1].effective } };
	return err;
}

int rights_lower(struct rights *ret)
{
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0 } };
	int err;

	*ret = (struct rights){ 0 };
	if (!rights_elevated())
		return 0;
	err = save(ret, data);
	err = err ? err : set_file_user(getuid(), getgid());
	data[0].effective &= (uint32_t)KEPT_LOWERED;
	data[1].effective &= (uint32_t)(KEPT_LOWERED >> 32);
	err = err ? err : set_capabilities(data);
	if (err)
		rights_restore(ret);
	return err;
}

int rights_act_as(struct rights *ret, uid_t uid, gid_t gid)
{
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0 } };
	int err = save(ret, data);

	err = err ? err : set_file_user(uid, gid); /* which takes the capabilities that files have to do with */
	if (err)
		rights_restore(ret);
	return err;
}

int rights_read_as(struct rights *ret, uid_t uid, gid_t gid)
{
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0 } };
	int err = rights_act_as(ret, uid, gid);

	err = err ? err : get_capabilities(data);
	data[0].effective |= data[0].permitted & (uint32_t)BIT(CAP_DAC_READ_SEARCH);
	err = err ? err : set_capabilities(data);
	if (err)
		rights_restore(ret);
	return err;
}

void rights_restore(const struct rights *before)
{
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	if (!before->changed)
		return;
	setfsuid(before->fsuid);
	setfsgid(before->fsgid);
	if (get_capabilities(data))
		return;
	data[0].effective = before->effective[0];
	data[1].effective = before->effective[1];
	set_capabilities(data);
}

static bool read_id(const char *name, uint32_t *ret)
{
	const char *text = secure_getenv(name); /* set-user-ID, it is not sudo that speaks */
	uint64_t value;

	if (!text || text_u64(text, &value) || !value || value >= UINT32_MAX)
		return false;
	*ret = (uint32_t)value;
	return true;
}

bool rights_sudo_user(uid_t *ret_uid, gid_t *ret_gid)
{
	return !geteuid() && read_id("SUDO_UID", ret_uid) && read_id("SUDO_GID", ret_gid);
}
