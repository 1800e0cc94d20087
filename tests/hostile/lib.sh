# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What the tests with attackers share. An attacker is a program of tests/hostile, or a script, run by an ordinary user
# (`attack`); victims are programs of others, whose profile must be what it is without him (`victims`,
# `victims_unchanged`); wick is started so that the test goes on if it does not end (`bounded`).
#
# From the environment: HOSTILE_SECONDS (how long the mixture runs), HOSTILE_PATIENCE (seconds after which wick is taken
# to hang).

# shellcheck source=../kernel/serve-lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../kernel/serve-lib.sh"

build=${WICK_BUILD:-$tests_dir/../build}
patience=${HOSTILE_PATIENCE:-25}
naming=5 # seconds that names may take, after those that were asked for
slack=2  # and what a busy machine may add
nobody=65534
export took=0 attackers=() wick="" watcher="" begun=0 peace=0

# The attacker reaches the programs, and has a folder of his own. wick is a file of its own here: what is left of it can
# be told from others.
chmod 711 "$T"
mkdir -m 755 "$T/bin"
mkdir "$T/home"
mount -t tmpfs -o mode=711,uid=$nobody,gid=$nobody,size=2G home "$T/home"
at_end 'umount -l "$T/home"'
find "$build/hostile" -maxdepth 1 -type f ! -name '*.d' -exec cp -t "$T/bin" {} +
cp "$WICK" "$T/bin/wick"
cp "$PROGS/shares" "$T/bin/h-shares"
cp "$build/zoo/plain" "$T/bin/h-plain"
mv "$T/bin/wide" "$T/bin/h-wide"
objcopy --strip-all "$T/bin/spin" "$T/bin/spin-stripped"
WICK=$T/bin/wick
home=$T/home
bin=$T/bin
fuse=$T/fuse
mknod -m 666 "$fuse" c 10 229 # as distributions have it

# attack NAME COMMAND...: in the background, as the attacker, until it says `ready`; its pid in $started, its words in
# $T/NAME.out. In a group of its own, to be ended together, but not in a session: the kernel may give each of those as
# much time as all victims have together.
attack() {
	local name=$1
	shift
	start "$T/$name.out" perl -e 'setpgrp; exec @ARGV' setpriv --reuid $nobody --regid $nobody --clear-groups -- env -C "$home" "$@"
	attackers+=("$started")
	wait_for 60 grep -q '^ready' "$T/$name.out" || {
		diag "$name: $(cat "$T/$name.out")"
		return 1
	}
}

# release: ends all attackers and what they started
release() {
	local pid
	for pid in "${attackers[@]}"; do
		kill -KILL -- "-$pid" 2>/dev/null
		stop "$pid"
	done
	attackers=()
}
at_end release

# victims NAME: of two users: one with frame pointers, one without, one whose unwind rules are its own; their pids in
# $shares, $plain and $wide. NAME begins theirs, and their files': those of another name are files that nobody has met.
victims() {
	local name=$1 each
	for each in shares plain wide; do
		[ -e "$bin/$name-$each" ] || cp "$bin/h-$each" "$bin/$name-$each"
	done
	start /dev/null setpriv --reuid 4242 --regid 4242 --clear-groups -- "$bin/$name-shares" -n "$name-shares"
	shares=$started
	start "$T/$name-plain.out" "$bin/$name-plain"
	plain=$started
	start "$T/$name-wide.out" setpriv --reuid 4242 --regid 4242 --clear-groups -- "$bin/$name-wide"
	wide=$started
	wait_for 20 grep -q '^ready' "$T/$name-plain.out"
	wait_for 20 grep -q '^ready' "$T/$name-wide.out"
}

stop_victims() {
	stop "$shares" "$plain" "$wide"
}

# other_stacks COMM REGEX: the user stacks of a program that do not match, with their samples. Left out are samples that
# came before the tables and were too many to be kept, and the dynamic loader, before the program's own code: one or two
# samples whose leaf has a name that is none of the program's.
other_stacks() {
	sed -n "s/^$1;//p" "$T/x.folded" | perl -e '
		while (<STDIN>) {
			s/ (\d+)$// or next;
			chomp(my $n = $1);
			chomp;
			my $path = join ";", grep { !/_\[k\]$/ } split /;/;
			next if $path =~ /^(|\[incomplete: no_table\].*|(ld-linux[^;]*|_dl_start_user)(;.*)?)$/;
			$sum{$path} += $n unless $path =~ /^(?:$ARGV[0])$/;
		}
		my $own = qr/^(main|run|[a-e]|hot\d+|shuffle|outer|middle|inner|sort|compare|zoo_spin|wide_.|work|.*(\+0x|\[).*)$/;
		for my $path (sort { $sum{$b} <=> $sum{$a} } keys %sum) {
			print "$sum{$path} $path\n" if $sum{$path} > 2 || (split /;/, $path)[-1] =~ $own;
		}' "$2" | head -3
}

whole=_start\;__libc_start_main\;__libc_start_call_main\;main

# victims_unchanged WHAT NAME: shares, paths, wholeness, names, in $T/x.folded and $T/x.json. Not one stack of theirs
# may be wrong; incomplete are at most those samples that came before the tables and were too many to be kept.
victims_unchanged() {
	local what=$1 name=$2 pid
	shares_hold "$what: a victim with frame pointers" "$T/x.folded" "$name-shares" "$bin/$name-shares"
	is "$what: none of its stacks has lost its callers" "$(other_stacks "$name-shares" "$whole(;.*)?")" ''
	is "$what: a victim without has no stack but its own" "$(other_stacks "$name-plain" "$whole;outer;middle;inner;sort(;[^;]+)*;compare;zoo_spin")" ''
	is "$what: nor one with rules of its own" "$(other_stacks "$name-wide" "$whole;wide_a;wide_b;wide_c;work")" ''
	for pid in $plain $wide; do
		is "$what: every stack of theirs is whole" "$(stat_of "$T/x.json" ".processes[] |
			select(.pid == $pid) | .complete > 50 and .complete > 0.7 * .user_samples
			and .user_samples == .complete + (.incomplete.no_table // 0)")" true ||
			diag "$(stat_of "$T/x.json" ".processes[] | select(.pid == $pid) | tostring")"
	done
}

# small WHAT: wick's memory
small() {
	holds "$1: wick and its helpers stay small" "$(stat_of "$T/x.json" .self.max_rss_bytes) < 96 << 20"
	holds "$1: so do its tables" "$(stat_of "$T/x.json" .self.bpf_map_bytes) < 96 << 20"
}

# processes_of_wick: all that run, whoever their parent is
processes_of_wick() {
	local link
	for link in /proc/[0-9]*/exe; do
		[ "$(readlink "$link" 2>/dev/null)" != "$WICK" ] || basename "${link%/exe}"
	done
}

nothing_left() {
	[ -z "$(processes_of_wick)" ]
}

# where_it_waits PID: for diagnoses
where_it_waits() {
	local pid
	for pid in $(processes_of_wick); do
		printf '%s %s %s: %s\n' "$pid" "$(cat "/proc/$pid/comm" 2>/dev/null)" \
			"$(awk '/^State/ { print $2 } /^VmRSS/ { print $2, "kB" }' "/proc/$pid/status" 2>/dev/null | tr '\n' ' ')" \
			"$(sed 's/.* //; s/+.*//' "/proc/$pid/stack" 2>/dev/null | head -4 | tr '\n' ' ')"
	done
}

# bounded_start ARGUMENT...: wick record in the background; its pid in $wick. Leaves $T/x.folded and $T/x.json.
bounded_start() {
	rm -f "$T/x.folded" "$T/x.json" "$T/pid" "$T/ended"
	begun=$EPOCHREALTIME
	start "$T/wick.out" perl -MTime::HiRes=time -MPOSIX=setsid -e '
		my ($folder, @command) = @ARGV;
		my $pid = fork // die;
		unless ($pid) { setsid(); exec @command or exit 127 } # time of its own, as a service has
		sub note { open my $file, ">", "$folder/$_[0].new"; print $file $_[1]; close $file; rename "$folder/$_[0].new", "$folder/$_[0]" }
		note("pid", $pid);
		waitpid $pid, 0;
		my $status = $? >> 8 | ($? & 127 ? 128 + ($? & 127) : 0);
		note("ended", time);
		exit $status;' "$T" "$WICK" record -o "$T/x.folded" --stats "$T/x.json" "$@"
	watcher=$started
	wait_for 20 test -s "$T/pid"
	wick=$(cat "$T/pid")
	wait_for 20 samples_or_gone "$wick"
}
at_end 'kill -KILL $(processes_of_wick)'

# Cheap, and not in need of a moment when wick has nothing to do: there may be none.
samples_or_gone() {
	gone "$1" || find "/proc/$1/fd" -lname '*perf_event*' 2>/dev/null | grep -q .
}

# bounded_end: its exit in $status (`hangs` if it had to be ended, and the attackers before it), how long it took in $took
bounded_end() {
	if wait_for "$patience" gone "$watcher" 2>/dev/null; then
		wait "$watcher"
		status=$?
		took=$(perl -e "printf '%.2f', $(cat "$T/ended") - $begun")
	else
		diag "still there after $patience seconds more:"
		diag "$(where_it_waits)"
		status=hangs
		took=999
		release
		kill -KILL "$wick" 2>/dev/null
		wait_for 10 gone "$watcher" && wait "$watcher" 2>/dev/null
	fi
	[ "$status" = 0 ] || diag "$(head -5 "$T/wick.out")"
}

# bounded_stop: the same, after it was asked to end; $took is the time from there on
bounded_stop() {
	begun=$EPOCHREALTIME
	kill -INT "$wick"
	bounded_end
}

# bounded ARGUMENT...: start and end
bounded() {
	bounded_start "$@"
	bounded_end
}

# ends_well WHAT [SECONDS]: as soon as without attackers ($peace, as measured), and the time for names. False if there is
# no output.
ends_well() {
	is "$1: wick ends well" "$status" 0
	holds "$1: and in time" "$took <= ${2:-$peace} + $naming + $slack"
	ok "$1: it has written its output" test -s "$T/x.folded" -a -s "$T/x.json"
}

# sums WHAT: the accounting is exact, stacks are whole or have a reason
sums() {
	sums_hold "$1" "$T/x.json" "$T/x.folded"
	is "$1: user stacks are whole or have a reason" "$(stat_of "$T/x.json" '
		.stacks.user == .stacks.complete + ([.stacks.incomplete[]] | add)
		and ([.processes[] | .user_samples == .complete + ([.incomplete[]] | add // 0)] | all)')" true
}

# judge WHAT NAME [SECONDS]: all that is wanted of a recording beside the victims of that name. False if there is none to be
# judged.
judge() {
	ends_well "$1" "${3:-$peace}" || return 1
	victims_unchanged "$1" "$2"
	sums "$1"
	small "$1"
}

# victims_burn TICKS: wait until each victim has had so many hundredths of a second of CPU time from now on
victims_burn() {
	local pid
	for pid in $shares $plain $wide; do
		wait_for 60 burned "$pid" $(($(ticks "$pid") + $1))
	done
}

# in_peace ARGUMENT...: how long such a recording takes without attackers, beside victims; in $peace
in_peace() {
	victims h
	bounded "$@"
	peace=$took
	is "in peace: wick ends well" "$status" 0
	victims_unchanged "in peace" h
	stop_victims
}

# stall MODE [SECONDS]: a file system that does not answer such requests, see fuse.c; its program is called h-MODE
stall() {
	mkdir "$home/$1.fuse"
	chown $nobody "$home/$1.fuse"
	attack "$1" nice -n 19 "$bin/fuse" "$fuse" "$home/$1.fuse" "${2:-60}" "$bin/spin-stripped" "$1" $$
}

# elves MODE ARGUMENT...: see elves.c; its folder is $home/MODE
elves() {
	mkdir -p "$home/$1"
	chown $nobody "$home/$1"
	attack "$1" "$bin/elves" "$home/$1" "$@"
}

# prepare_lies, once; lie: a name space in which a library of root's has a debug file that somebody else has made
prepare_lies() {
	library=$bin/libhidden-stripped.so
	objcopy --strip-all "$bin/libhidden.so" "$library"
	objcopy --redefine-sym hidden_work=EVIL_work "$bin/libhidden.so" "$home/evil.debug"
	chmod 644 "$home/evil.debug"
	library_id=$(readelf -n "$library" | sed -n 's/.*Build ID: //p')
	[ -d /usr/lib/debug ] || {
		mkdir /usr/lib/debug
		at_end 'rmdir /usr/lib/debug'
	}
}

lie() {
	attack lies "$bin/lent" h-liar "$library" "$home/evil.debug" "$library_id"
}
