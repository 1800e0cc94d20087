#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A frame is named by what was mapped when it was sampled: across exec, exit, dlclose and dlopen at the same address,
# a deleted program, another mount namespace and a pid used again. In the programs here, wrong names are seen: where
# one of a pair runs, the other has code that never does.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

hz=1999

# astray FILE: samples of the pair exec-alpha and exec-beta with a frame that cannot be
astray() {
	symbolize "$PROGS/exec-alpha" "$PROGS/exec-beta" <"$1" | perl -ne '
		my ($comm) = /^exec-(alpha|beta);/ or next;
		my $other = $comm eq "alpha" ? "beta" : "alpha";
		print if /;(exec-$other|spin_$other|decoy)/;
	'
}

# share FILE COMM FUNCTION PROGRAM: of the samples under that name in the program's own code, how many have the function.
# What exec and the loader take beside it depends on the machine.
share() {
	grep "^$2;" "$1" | symbolize "$4" | perl -e '
		my ($function, $program) = @ARGV;
		my %own = map { /^\w+ [tT] (\S+)/ ? ($1 => 1) : () } qx(nm "$program");
		my ($file) = $program =~ m{([^/]+)$};
		my ($all, $in) = (0, 0);
		while (<STDIN>) {
			s/ (\d+)$// or next;
			my ($n, @frames) = ($1, split /;/);
			chomp $frames[-1];
			next unless $own{$frames[-1]} || $frames[-1] =~ /^\Q$file\E[@+]/;
			$all += $n;
			$in += $n if grep { $_ eq $function } @frames;
		}
		printf "%.3f\n", $all > 100 ? $in / $all : 0' "$3" "$4"
}

# ---- exec: one process, two programs by turns ----
ok 'exec: runs' record -F "$hz" -- "$PROGS/exec-alpha" 400 4 "$PROGS/exec-beta"
is 'exec: no frame of the other program' "$(astray "$T/x.folded" | head -5)" ''
holds 'exec: alpha spins in spin_alpha' "$(share "$T/x.folded" exec-alpha spin_alpha "$PROGS/exec-alpha") > 0.95"
holds 'exec: beta spins in spin_beta' "$(share "$T/x.folded" exec-beta spin_beta "$PROGS/exec-beta") > 0.95"
holds 'exec: both had their half' \
	"abs($(folded_sum "$T/x.folded" exec-alpha) / ($(folded_sum "$T/x.folded" exec-beta) + 1) - 1) < 0.25"
is 'exec: it stayed one process' \
	"$(stat_of "$T/x.json" '[.processes[] | select(.comm | startswith("exec-")) | .pid] | unique | length')" 1

# exec so often that many samples fall inside execve
ok 'exec, quickly: runs' record -F 4999 -- "$PROGS/exec-alpha" 4000 0 "$PROGS/exec-beta"
is 'exec, quickly: no frame of the other program' "$(astray "$T/x.folded" | head -5)" ''
holds 'exec, quickly: there are samples' "$(folded_sum "$T/x.folded") > 500"

# ---- exit: the kernel takes the memory back ----
ok 'exit: runs' record -F "$hz" -- "$PROGS/exiter" 2 48
# A page of the stack that is being copied after fork is not there for a moment (do_wp_page clears its entry before it
# sets the new one): that is fork's doing.
is 'exit: no stack is broken by it' \
	"$(grep -E '^exiter;\[incomplete: (no_mapping|not_code|no_memory|compat)\]' "$T/x.folded" |
		grep -vE '^exiter;\[incomplete: no_memory\];.*;do_wp_page_\[k\];' | head -3)" ''
symbolize -k <"$T/x.folded" >"$T/named"
holds 'exit: its time is there, under its name' \
	"$(grep -E '^exiter;.*(exit_mmap|unmap_page_range|zap_p|free_pages|release_pages)' "$T/named" | awk '{ n += $NF } END { print n + 0 }') > 20"

# ---- dlclose, then dlopen at the same address ----
run "$WICK" record -F "$hz" -n dl -o "$T/x.folded" -- "$PROGS/dl" "$PROGS/libdla.so" "$PROGS/libdlb.so" 200
is 'dlopen: runs' "$status" 0
is 'dlopen: the same address every time' "$(grep '^same' "$T/stdout")" 'same 199 of 199'
symbolize "$PROGS/libdla.so" "$PROGS/libdlb.so" "$PROGS/dl" <"$T/x.folded" >"$T/named"
is 'dlopen: nothing where no code runs' "$(grep -E ';decoy' "$T/named" | head -3)" ''
holds 'dlopen: both libraries had their half' "
	my (\$a, \$b) = ($(awk '/;spin_a/ { n += $NF } END { print n + 0 }' "$T/named"), $(awk '/;spin_b/ { n += $NF } END { print n + 0 }' "$T/named"));
	\$a > 200 && \$b > 200 && abs(\$a - \$b) < 0.1 * (\$a + \$b)"
holds 'dlopen: by main, turn, library_enter' \
	"$(grep -cE ';main;turn;library_enter;spin_[ab]' "$T/named") > 0 &&
	$(grep -E ';spin_[ab]' "$T/named" | grep -vE ';main;turn;library_enter;spin_[ab]' | awk '{ n += $NF } END { print n + 0 }') < 5"

# ---- a program that was deleted, and whose path is now another file ----
mkdir "$T/del"
cp "$PROGS/shares" "$T/del/gone-prog"
start /dev/null "$T/del/gone-prog" -n deleted
wait_for 10 grep -q deleted "/proc/$started/comm"
rm "$T/del/gone-prog"
cp "$PROGS/shares-pad" "$T/del/gone-prog"
ok 'deleted: runs' record -F "$hz" -p "$started" 1
sed 's/gone-prog (deleted)/gone-prog/g' "$T/x.folded" >"$T/plain"
cp "$PROGS/shares" "$T/gone-prog"
shares_hold 'deleted' "$T/plain" deleted "$T/gone-prog"
stop "$started"

# ---- another mount namespace: one path, two files ----
mkdir "$T/here" "$T/there"
cp "$PROGS/shares" "$T/here/same-name"
cp "$PROGS/shares-pad" "$T/there/same-name"
start /dev/null "$T/here/same-name" -n ns-here
here=$started
start /dev/null unshare -m bash -c 'mount --bind "$1" "$2" && exec "$2/same-name" -n ns-there' - "$T/there" "$T/here"
there=$started
wait_for 10 grep -q ns-there "/proc/$there/comm"
is 'mount namespace: the same path in both' "$(readlink "/proc/$there/exe")" "$(readlink "/proc/$here/exe")"
ok 'mount namespace: runs' record -F "$hz" -p "$here,$there" 2
shares_hold 'mount namespace, ours' "$T/x.folded" ns-here "$T/here/same-name"
shares_hold 'mount namespace, theirs' "$T/x.folded" ns-there "$T/there/same-name"
stop "$here" "$there"

# ---- a pid used again by another program ----
run "$WICK" record -F "$hz" -o "$T/x.folded" --stats "$T/x.json" -- "$PROGS/pidreuse" 60 20 "$PROGS/exec-alpha" "$PROGS/exec-beta"
is 'pid reuse: runs' "$status" 0
is 'pid reuse: the same pid every time' "$(grep '^reused' "$T/stdout")" 'reused 59 of 59'
is 'pid reuse: no frame of the other program' "$(astray "$T/x.folded" | head -5)" ''
pid=$(sed -n 's/^pid //p' "$T/stdout")
holds 'pid reuse: told apart' "$(stat_of "$T/x.json" "[.processes[] | select(.pid == ${pid:-0})] | length") >= 50"
is 'pid reuse: each with its own program' "$(stat_of "$T/x.json" "
	[.processes[] | select(.pid == ${pid:-0} and (.comm | startswith(\"exec-\"))) | select(.comm as \$comm | .exe | endswith(\$comm) | not)] | length" 2>&1)" 0

# ---- positions against the process's own mappings ----
start /dev/null "$PROGS/shares" -n position
ok 'position: runs' record --raw -F "$hz" -p "$started" 0.5
leaf=$(grep -oE ';shares\+0x[0-9a-f]+ [0-9]+$' "$T/x.folded" | head -1 | sed 's/.*0x//; s/ .*//')
is 'position: the offset lies in an executable mapping of the file' "$(perl -ne '
	my ($start, $end, $perms, $offset) = /^(\w+)-(\w+) (\S+) (\w+) .*\/shares$/ or next;
	my $at = hex("'"${leaf:-0}"'") - hex $offset;
	print "yes\n" if $perms =~ /x/ && $at >= 0 && $at < hex($end) - hex($start)' "/proc/$started/maps")" yes
stop "$started"

finish
