#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A user to whom a part of the cgroup tree was left may name what he makes there as he likes: like somebody's container,
# pod or service. His time stays his own: what root named has the CPU time of what root put there, and what the user
# named carries his uid.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

unified=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
[ -n "$unified" ] || skip_all 'no cgroup v2 is mounted'
user=65534
as_user=(setpriv --reuid "$user" --regid "$user" --clear-groups)
id=$(printf 'c0ffee%.0s' {1..10})0123
short=${id:0:12}
pod=2c48913c-b29f-11e7-9350-020968147796
slice=$unified/wickhostile.slice
home=$slice/user@$user.service
pods=kubepods.slice/kubepods-pod${pod//-/_}.slice/cri-containerd-$id.scope
loads=()

# remove FOLDER...: cgroups and all below them, when nobody is in them any more
remove() {
	find "$@" -depth -type d -exec rmdir {} +
}

# own FOLDER...: as systemd gives a cgroup to a user
own() {
	mkdir -p "$@"
	chown "$user:$user" "$@" "${@/%//cgroup.procs}"
}

# load NAME CGROUP [HOME]: a load under that name; with HOME it is the user's, who makes the cgroup below what is his
load() {
	local as=()
	[ -z "${3:-}" ] || as=("${as_user[@]}")
	start /dev/null bash -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' - "${3:-$unified}" "${as[@]}" \
		bash -c 'mkdir -p "$1" && echo $$ >"$1/cgroup.procs" && exec "$2" -n "$3"' - "$2" "$PROGS/shares" "$1"
	wait_for 10 grep -qx "$1" "/proc/$started/comm"
	loads+=("$started")
}

# record_loads [COMMAND...]: all of them, by wick run in that way, and they end
record_loads() {
	run "$@" "$WICK" record -F 499 -p "$(IFS=, && echo "${loads[*]}")" -o "$T/x.wick" 2
	is 'record: exit' "$status" 0 || diag "$(cat "$T/stderr")"
	stop "${loads[@]}"
	loads=()
}

# in_what WHAT COMM: the container or unit that its time is in
in_what() {
	"$WICK" report --width 200 --by "$1" --process "^$2\$" "$T/x.wick" | awk '/^$/ { part++ } part == 1 && $1 ~ /%$/ {
		sub(/\[no .*/, "none"); print $3 }' | sort | tr '\n' ' '
}

# texts COMM: those of its profile in pprof's format, labels and their values among them, one a line
texts() {
	"$WICK" convert --process "^$1\$" "$T/x.wick" -o "$T/x.pb.gz"
	gunzip -c "$T/x.pb.gz" | perl -0777 -ne '
		sub number { my ($value, $shift, $byte) = (0, 0); do { $byte = ord substr $_, $at++, 1; $value |= ($byte & 127) << $shift;
			$shift += 7 } while $byte > 127; $value }
		while ($at < length) { my $tag = number; if (($tag & 7) == 0) { number; next } my $len = number;
			print substr($_, $at, $len), "\n" if $tag >> 3 == 6; $at += $len }'
}

# says NAME COMM WHAT TEXT: the label has that value; and nothing says what it would be if it were root's
says() {
	local all
	all=$(texts "$2")
	ok "$1" grep -qxF "$user/$4" <<<"$all"
	is "$1: not as root's" "$(grep -cxF "$4" <<<"$all")" 0
	ok "$1: under its name" grep -qxF "$3" <<<"$all"
}

at_end "remove $slice"
own "$home"

# ---- names of others ----

load boxed "$slice/docker-$id.scope"
load served "$slice/sshd.service"
load podded "$slice/$pods"
load alone "$home" "$home"
load box "$home/docker-$id.scope" "$home"
load serve "$home/sshd.service" "$home"
load pod "$home/$pods" "$home"
load named "$home/lxc/web" "$home"
record_loads
is 'a container of root' "$(in_what container boxed)" "$short "
is 'a unit of root' "$(in_what unit served)" 'sshd.service '
is 'a pod of root: the container' "$(in_what container podded)" "$short "
ok 'a pod of root' grep -qxF "$pod" <<<"$(texts podded)"
is 'a cgroup that root named and gave away: the unit' "$(in_what unit alone)" "user@$user.service "
is 'a container of the user, by the short form of its id' "$(in_what container box)" "$user/$short "
is 'a container of the user: its unit is what root gave' "$(in_what unit box)" "user@$user.service "
is 'a unit of the user: that of root above it' "$(in_what unit serve)" "user@$user.service "
says 'a unit of the user' serve user_unit sshd.service
is 'a unit of the user: no container' "$(in_what container serve)" 'none '
is 'a pod of the user: the container' "$(in_what container pod)" "$user/$short "
says 'a pod of the user' pod pod "$pod"
is 'a container with a name of the user' "$(in_what container named)" "$user/web "

# ---- inside a container that root named, and below what is root's again ----

own "$slice/lxc.payload.web"
mkdir -p "$home/odd"
load inner "$slice/lxc.payload.web/docker-$id.scope" "$slice/lxc.payload.web"
load odd "$home/odd/docker-$id.scope"
record_loads
is "a container in root's: that of root" "$(in_what container inner)" 'web '
is "made by root, in what is the user's: the user's" "$(in_what container odd)" "$user/$short "

# ---- a folder that everyone may write ----

mkdir "$slice/shared"
chmod 1777 "$slice/shared"
chown "$user" "$slice/shared/cgroup.procs"
load theirs "$slice/shared/docker-$id.scope" "$slice/shared"
load ours "$slice/shared/sshd.service"
record_loads
is "a shared folder: the user's is his" "$(in_what container theirs)" "$user/$short "
is "a shared folder: root's is root's" "$(in_what unit ours)" 'sshd.service '

# ---- gone before anything is fetched from the kernel ----

cat >"$T/brief" <<'END'
for i in {1..20}; do
	mkdir "$1" && bash -c 'echo $$ >"$1/cgroup.procs" && exec "$2/exec-alpha" 1 20' - "$1" "$PROGS"
	until rmdir "$1" 2>/dev/null; do :; done
done
END
chmod 755 "$T"
run "$WICK" record -F 999 --drain-ms 600000 -o "$T/x.wick" -- bash -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' - "$home" \
	"${as_user[@]}" bash "$T/brief" "$home/docker-$id.scope"
is 'gone: exit' "$status" 0 || diag "$(cat "$T/stderr")"
gone=$(in_what container exec-alpha)
holds 'gone: nothing is in the container of root' "' $gone' !~ / $short /"
holds 'gone: it is known all the same' "' $gone' =~ m{ $user/$short }"

# ---- a file system of the user's over his cgroup, which answers nobody ----

load over "$home/docker-$id.scope" "$home"
mknod "$T/fuse" c 10 229
exec 9<>"$T/fuse"
at_end "umount -l $home"
ok 'a mount over it: it is there' \
	mount -i -t fuse -o "fd=9,rootmode=40000,user_id=$user,group_id=$user,allow_other" none "$home"
record_loads
is 'a mount over it: the unit is what root named' "$(in_what unit over)" "user@$user.service "
is 'a mount over it: whose is below cannot be told' "$(in_what container over)" 'none '
umount -l "$home"
exec 9>&-

# ---- wick in a cgroup name space of its own, as in a container ----

# With the machine's processes it sees the tree that the first of them sees, and the same as ever; without them nothing, but
# never what is not so.
mkdir "$slice/wick.service"
cat >"$T/inside" <<'END'
put() {
	bash -c 'echo $$ >"$1/cgroup.procs" && exec "$2/shares" -n "$3"' - "$1" "$PROGS" "$2" &
	pids+=($!)
}
put "$1/docker-$3.scope" boxed
put "$2/docker-$3.scope" box
echo $$ >"$1/wick.service/cgroup.procs"
unshare -C -m bash -c 'umount "$1" && mount -t cgroup2 none "$1" && exec "$2" record -F 499 -p "$3" -o "$4" 2' - \
	"$4" "$WICK" "$(IFS=, && echo "${pids[*]}")" "$5"
status=$?
kill -KILL "${pids[@]}"
wait
exit "$status"
END
export WICK
mkdir -p "$slice/docker-$id.scope"
"${as_user[@]}" mkdir -p "$home/docker-$id.scope"
run unshare -pf --mount-proc bash "$T/inside" "$slice" "$home" "$id" "$unified" "$T/x.wick"
is 'a name space: exit' "$status" 0 || diag "$(cat "$T/stderr")"
is 'a name space: a container of root' "$(in_what container boxed)" "$short "
is 'a name space: a container of the user' "$(in_what container box)" "$user/$short "
load box "$home/docker-$id.scope" "$home"
record_loads bash -c 'echo $$ >"$0/cgroup.procs" && exec unshare -C -m bash -c "umount \"\$0\" && mount -t cgroup2 none \"\$0\" &&
	exec \"\$@\"" "$@"' "$slice/wick.service" "$unified"
holds 'a name space, and whatever is seen of the first process: not as root' \
	"'$(in_what container box)' eq 'none ' || '$(in_what container box)' eq '$user/$short '"

# ---- version 1: as before, and a name may be changed ----

systemd=$(awk '$3 == "cgroup" && $4 ~ /name=systemd/ { print $2; exit }' /proc/mounts)
if [ -n "$systemd" ]; then
	old=$systemd/wickhostile.slice
	at_end "remove $old"
	own "$old/user@$user.service"
	load boxed "$old/docker-$id.scope"
	load box "$old/user@$user.service/docker-$id.scope" "$old/user@$user.service"
	mkdir "$old/user@$user.service/mine"
	load renamed "$old/user@$user.service/mine"
	"${as_user[@]}" mv "$old/user@$user.service/mine" "$old/user@$user.service/sshd.service"
	record_loads
	is 'version 1: a container of root' "$(in_what container boxed)" "$short "
	is 'version 1: a container of the user' "$(in_what container box)" "$user/$short "
	is 'version 1: with another name than root gave: the unit' "$(in_what unit renamed)" "user@$user.service "
	says 'version 1: with another name than root gave' renamed user_unit sshd.service
fi

finish
