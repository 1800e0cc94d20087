#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# wick reads for an ordinary user what he may not read himself? His programs name files as their debug files, by links,
# by paths that only he sees, beside files of root; each program has no names of its own, so that they are looked for, and
# some say nothing about unwinding either. None of root's files is opened.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# What only root may read, at three places: in a folder that nobody can enter, where a program's own path leads; and
# root's process, whose memory is a file.
private=$T/rootonly
mkdir -m 700 "$private" "$private/below"
for name in secret dotted alt linked bound placed; do
	(umask 077 && cp "$bin/spin" "$private/$name")
done
start /dev/null "$bin/h-plain"
other=$started

# with_link FILE NAME: a program that says that its debug file is NAME, beside it
with_link() {
	local at=$T/links
	mkdir -p "$at"
	cp "$bin/spin" "$at/$2"
	(cd "$at" && objcopy --strip-all --remove-section .eh_frame --add-gnu-debuglink="$2" "$bin/spin" "$1")
	rm "$at/$2"
}

mkdir "$home/programs"
with_link "$home/programs/secret" secret
with_link "$home/programs/mem" mem
with_link "$home/programs/linked" linked
with_link "$home/programs/bound" bound
# a name that leads elsewhere by itself: what objcopy would not write
with_link "$home/programs/dots" secret.dots
perl -0777 -pi -e 's,secret\.dots,../dotted\0\0,' "$home/programs/dots"
# the common part of several debug files: a section with a name and an id of its own
printf '/.dwz/../../../..%s\0%020d' "$private/alt" 0 >"$T/altlink"
objcopy --strip-all --add-section .gnu_debugaltlink="$T/altlink" "$bin/spin" "$home/programs/alt"
cp "$bin/spin" "$home/programs/placed"
chown -R $nobody "$home/programs"

start "$T/watch.out" "$bin/watch" "$private"/{secret,dotted,alt,linked,bound,placed} "/proc/$other/mem"
wait_for 20 grep -q '^ready' "$T/watch.out"
cat "$private/secret" >/dev/null
ok 'who opens a file is noticed' wait_for 20 grep -q "opened $private/secret by cat" "$T/watch.out"

# over FOLDER PLACE PROGRAM: runs it in PLACE, on a tmpfs that only its own name space has over FOLDER
over() {
	attack "$3" unshare -Urm --propagation private bash -c '
		mount -t tmpfs none "$1" && mkdir -p "$2" && cp "$3" "$2/" && exec "$2/${3##*/}"' - "$1" "$2" "$home/programs/$3"
}
over "$private" "$private" secret
over "$private" "$private/below" dots
over /proc "/proc/$other" mem
attack alt "$home/programs/alt"
# and one without name spaces: what it names is a link to root's file
mkdir "$home/place"
cp "$home/programs/linked" "$home/place/program"
ln -s "$private/linked" "$home/place/linked"
attack linked "$home/place/program"
# one that has bound root's folder to a place where debug files are looked for, as everybody may in a name space of his own
mkdir -p "$home/bound/.debug"
cp "$home/programs/bound" "$home/bound/tied"
attack bound unshare -Urm --propagation private bash -c 'mount --bind "$1" "$2/.debug" && exec "$2/tied"' - "$private" "$home/bound"
# one whose own file, on a file system of root's, is where for root another file is
attack placed unshare -Urm --propagation private bash -c '
	mount -t tmpfs none "$1" && touch "$1/placed" && mount --bind "$2" "$1/placed" && exec "$1/placed"' - \
	"$private" "$home/programs/placed"

bounded -F 499 3
is 'wick ends well' "$status" 0
for name in secret dots mem alt program tied placed; do
	holds "$name: it ran" "$(grep "^h-$name;" "$T/x.folded" | folded_sum /dev/stdin) > 10"
done
is 'it has opened none of them' "$(grep -v 'by cat$' "$T/watch.out" | sed 1d | sort | uniq -c | sort -rn | head -5)" ''
release
finish
