#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Names of native code in real recordings: programs in several languages, stripped in every way that leaves something to
# go by, gone before they are named, deleted, replaced, in other namespaces. Wanted names are the programs' own, or the
# addresses that nm gives for their twins with symbols.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

hz=999
cd "$T" || exit 1

# spinner NAME: C with functions NAME_inner in NAME_outer in main; it ends after so many ms of CPU time, if asked to
spinner() {
	cat <<-END
		#include <stdlib.h>
		#include <time.h>
		#include <unistd.h>
		static volatile unsigned long sink;
		__attribute__((noinline)) static void $1_inner(void) { for (int i = 0; i < 20000; i++) sink += i; }
		__attribute__((noinline)) static void $1_outer(void) { for (int i = 0; i < 100; i++) { $1_inner(); sink++; } }
		int main(int argc, char **argv)
		{
			clock_t end = argc > 1 ? clock() + atol(argv[1]) * (CLOCKS_PER_SEC / 1000) : 0;
			alarm(120);
			while (!end || clock() < end) { $1_outer(); sink++; }
			return 0;
		}
	END
}

# build NAME [FLAG...]: a spinner of that name
build() {
	spinner "$1" >"$1.c"
	gcc -O1 -Wl,--build-id=sha1 "${@:2}" -o "$1" "$1.c" || diag "$1 does not compile"
}

# at FILE SYMBOL: its address, as in names made of one
at() {
	printf '0x%x' "0x$(nm "$1" | awk -v name="$2" '$3 == name { print $1; exit }')"
}

# path_share FILE COMM REGEX [LEAF]: of the user samples of COMM, or of those with such a leaf, the share whose frames
# match, those of the kernel left out
path_share() {
	perl -e '
		my ($file, $comm, $regex, $leaf) = (@ARGV, ".");
		my ($all, $in) = (0, 0);
		open my $lines, "<", $file or die;
		while (<$lines>) {
			s/ (\d+)$// or next;
			my ($n, @frames) = ($1, split /;/);
			next unless shift(@frames) eq $comm;
			@frames = grep { !/_\[k\]$/ } @frames or next;
			next unless $frames[-1] =~ $leaf;
			$all += $n;
			$in += $n if join(";", @frames) =~ $regex;
		}
		printf "%.3f", $all >= 20 ? $in / $all : 0;' "$@"
}

# named NAME COMM REGEX [FILE]: nearly all samples of COMM have a stack like that
named() {
	holds "$1" "$(path_share "${4:-$T/x.folded}" "$2" "$3") > 0.9" ||
		diag "$(grep "^$2;" "${4:-$T/x.folded}" | head -4)"
}

# ---- one recording of many programs ----
pids=()
add() {
	start /dev/null "$@"
	pids+=("$started")
}

build plain -g
build whole
cp whole bare-c && strip bare-c
add ./plain
add ./bare-c
build fixed -static
add ./fixed
build fixed2 -static
cp fixed2 bare-static && strip bare-static
add ./bare-static

cat >cpp.cc <<'END'
#include <unistd.h>
#include <vector>
volatile unsigned long sink;
namespace zoo {
template <class T> struct Animal {
	__attribute__((noinline)) void run(const std::vector<T> &feet) { for (int i = 0; i < 20000; i++) sink += feet[0]; }
};
__attribute__((noinline)) void feed(Animal<int> &animal) { animal.run({ 1 }); sink++; }
}
int main() { alarm(120); zoo::Animal<int> animal; for (;;) { zoo::feed(animal); sink++; } }
END
g++ -O1 -o cpp cpp.cc
add ./cpp
cp cpp bare-cpp && strip bare-cpp
add ./bare-cpp

cat >rs.rs <<'END'
pub mod zoo {
	pub trait Run { fn run(&self) -> u64; }
	pub struct Cat(pub u64);
	impl Run for Cat {
		#[inline(never)]
		fn run(&self) -> u64 { (0..20000).fold(self.0, |a, b| std::hint::black_box(a ^ b)) }
	}
	#[inline(never)]
	pub fn feed<T: Run>(animal: &T) -> u64 { std::hint::black_box(animal.run()) + 1 }
}
fn main() {
	let end = std::time::Instant::now() + std::time::Duration::from_secs(120);
	while std::time::Instant::now() < end { std::hint::black_box(zoo::feed(&zoo::Cat(1))); }
}
END
for mangling in legacy v0; do
	# Either mangling has been the default, and the other one behind a switch, at some time.
	rustc -C symbol-mangling-version=$mangling -O rs.rs -o "rs-$mangling" 2>rs.err ||
		RUSTC_BOOTSTRAP=1 rustc -Zunstable-options -C symbol-mangling-version=$mangling -O rs.rs -o "rs-$mangling" \
			2>rs.err || diag "$(cat rs.err)"
	add "./rs-$mangling"
done
cp rs-v0 bare-rs && strip bare-rs
add ./bare-rs

cat >go.go <<'END'
package main

import "time"

var sink uint64

type animal struct{ feet uint64 }

func add(a uint64) { sink += a }

//go:noinline
func (a *animal) run() {
	for i := 0; i < 20000; i++ {
		add(a.feet)
	}
}

//go:noinline
func feed(a *animal) { a.run(); sink++ }

func main() {
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
		feed(&animal{1})
	}
}
END
GO111MODULE=off GOFLAGS='' GOTOOLCHAIN=local CGO_ENABLED=0 GOCACHE=${WICK_BUILD:-$T}/gocache HOME=$T \
	go build -ldflags='-s -w' -o bare-go go.go
add ./bare-go

# MiniDebugInfo, as Fedora's packages have it
build mini -g
objcopy --only-keep-debug mini mini.debug
nm -D mini --format=posix --defined-only | awk '{ print $1 }' | sort >mini.dynamic
nm mini --format=posix --defined-only | awk '$2 ~ /^[Tt]$/ { print $1 }' | sort | comm -13 mini.dynamic - >mini.keep
objcopy -S --keep-symbols=mini.keep mini.debug mini.symbols 2>/dev/null
xz -k mini.symbols
strip mini
objcopy --add-section .gnu_debugdata=mini.symbols.xz mini
add ./mini

# A debug file beside the program, by its link
build linked -g -Wl,--build-id=none
objcopy --only-keep-debug linked linked.debug
strip linked
objcopy --add-gnu-debuglink=linked.debug linked
add ./linked

add "$PROGS/vdso"
wait_for 20 burned "$started" 10
ok 'many programs: runs' record -F "$hz" -p "$(IFS=, && echo "${pids[*]}")" 5
stop "${pids[@]}"

named 'C' plain '^_start;.*;main;plain_outer;plain_inner$'
named 'stripped C, by the bounds of functions' bare-c \
	"^_start;.*;bare-c@$(at whole main);bare-c@$(at whole whole_outer);bare-c@$(at whole whole_inner)\$"
named 'a static program' fixed '^_start;.*;main;fixed_outer;fixed_inner$'
named 'a stripped static program' bare-static \
	"^_start;.*;bare-static@$(at fixed2 main);bare-static@$(at fixed2 fixed2_outer);bare-static@$(at fixed2 fixed2_inner)\$"
named 'C++' cpp ';main;zoo::feed;zoo::Animal<int>::run$'
named 'stripped C++' bare-cpp "bare-cpp@$(at cpp _ZN3zoo4feedERNS_6AnimalIiEE);bare-cpp@$(at cpp _ZN3zoo6AnimalIiE3runERKSt6vectorIiSaIiEE)\$"
named 'Rust, old mangling' rs-legacy ';rs::main;rs::zoo::feed;<rs::zoo::Cat as rs::zoo::Run>::run$'
named 'Rust, new mangling' rs-v0 ';rs::main;rs::zoo::feed::<rs::zoo::Cat>;<rs::zoo::Cat as rs::zoo::Run>::run$'
rust_at() {
	at rs-v0 "$(nm rs-v0 | awk -v what="$1" '$3 ~ what { print $3; exit }')"
}
named 'stripped Rust' bare-rs "bare-rs@$(rust_at '^_R.*3zoo4feed');bare-rs@$(rust_at '^_R.*3Cat.*3Run3run')\$"
named 'stripped Go, with what is inlined' bare-go '^(runtime\.goexit;)?runtime\.main;main\.main;(main\.feed;)?main\.\(\*animal\)\.run(;main\.add_\[i\])?$'
holds 'stripped Go: inlined functions are there' "$(path_share x.folded bare-go ';main\.add_\[i\]$') > 0.02"
named 'MiniDebugInfo' mini ';mini_outer;mini_inner$'
named 'a debug file beside it' linked ';linked_outer;linked_inner$'
holds 'the vDSO' "$(path_share x.folded vdso ';ask;.*__vdso_clock_gettime') > 0.5"
sums_hold 'many programs' x.json x.folded

# Names of the kernel are those of kallsyms, and the way in is there
awk '{ print $3 }' /proc/kallsyms | sort -u >kallsyms
is 'the kernel: every name is one of its symbols' "$(grep -oE '[^;]+_\[k\]' x.folded | sed 's/_\[k\]$//' | sort -u |
	grep -v '^\[kernel\]+0x' | comm -23 - kallsyms | head -3)" ''
holds 'the kernel: hardly anything is without a name' "$(grep -cE '\[kernel\]\+0x' x.folded) <= 0.02 * $(grep -c '_\[k\]' x.folded)"

# ---- inlined functions and lines ----
cat >inlined.c <<'END'
#include <unistd.h>
volatile unsigned long sink;
static inline __attribute__((always_inline)) void innermost(void)
{
	for (unsigned long i = 0; i < 20000; i++)
		sink += i * 7;
}
static inline __attribute__((always_inline)) void middle(void)
{
	innermost();
}
__attribute__((noinline)) void outermost(void)
{
	middle();
	sink++;
}
int main(void)
{
	alarm(120);
	for (;;)
		outermost();
}
END
gcc -O2 -g -o inlined inlined.c
start /dev/null ./inlined
inlined=$started
ok 'inlined functions: runs' record -F "$hz" -p "$inlined" --inline 1
named 'inlined functions' inlined ';main;outermost;middle_\[i\];innermost_\[i\]$'
sums_hold 'inlined functions' x.json x.folded
ok 'lines: runs' record -F "$hz" -p "$inlined" --lines 1
named 'lines' inlined ';main inlined\.c:21;outermost inlined\.c:[56]$'
ok 'both: runs' record -F "$hz" -p "$inlined" --inline --lines --events 1
named 'both' inlined ';outermost inlined\.c:14;middle inlined\.c:10_\[i\];innermost inlined\.c:[56]_\[i\]$'
ok 'neither: runs' record -F "$hz" -p "$inlined" 1
named 'neither' inlined ';main;outermost$'
stop "$inlined"

# ---- exec ----
ok 'exec: runs' record -F "$hz" -- "$PROGS/exec-alpha" 200 4 "$PROGS/exec-beta"
is 'exec: names of the program that ran' "$(grep -E '^exec-(alpha;.*;spin_beta|beta;.*;spin_alpha)' x.folded | head -3)" ''
# Of those in the files themselves: what exec and the loader take beside it depends on the machine.
holds 'exec: the first' "$(path_share x.folded exec-alpha ';main;spin_alpha;' '^(spin|main|decoy)|^exec-') > 0.95"
holds 'exec: the second' "$(path_share x.folded exec-beta ';main;spin_beta;' '^(spin|main|decoy)|^exec-') > 0.95"

# ---- gone before it is named, its file too ----
build ended
mkdir later
mv ended later/
ok 'ended and deleted: runs' record -F "$hz" -- bash -c './later/ended 400; rm later/ended; exec ./plain 300'
ok 'ended and deleted: it is so' test ! -e later/ended
named 'ended and deleted' ended ';main;ended_outer;ended_inner$'

# A program that lives for some milliseconds, and is deleted while it runs
build brief
ok 'short-lived: runs' record -F 4999 -- bash -c 'for i in {1..40}; do cp brief later/brief; ./later/brief 8; rm later/brief; done'
# Of those in the file itself: what the loader does before main is named by the loader.
holds 'short-lived: each from a file that is gone' \
	"$(path_share x.folded brief '^_start;.*;main;brief_outer(;brief_inner)?$' '^brief(_inner|_outer|[@+]0x[0-9a-f]+)$') > 0.9" ||
	diag "$(grep '^brief;' x.folded | head -4)"

# ---- dlclose, dlopen ----
run "$WICK" record -F "$hz" -n dl -o x.folded -- "$PROGS/dl" "$PROGS/libdla.so" "$PROGS/libdlb.so" 100
is 'dlopen: the same address every time' "$(grep '^same' stdout)" 'same 99 of 99'
named 'dlopen: named by the library that was there' dl ';main;turn;library_enter;spin_[ab]$'
is 'dlopen: nothing where no code runs' "$(grep ';decoy' x.folded | head -3)" ''

# ---- deleted, and replaced by another program that has code at the same places ----
build first
build second
cp first replaced
start /dev/null ./replaced
replaced=$started
wait_for 10 burned "$replaced" 5
cp second other && mv other replaced
ok 'replaced: runs' record -F "$hz" -p "$replaced" 1
named 'replaced: by what it was' replaced ';main;first_outer;first_inner$'
stop "$replaced"

# ---- split debug files by build id: in our root, and in that of the target ----
build split -g
objcopy --only-keep-debug split split.debug
strip split
id=$(readelf -n split | awk '/Build ID/ { print $3 }')
cat >with-debug <<'END'
#!/bin/bash
# with-debug DEBUG ID COMMAND...: where /usr/lib/debug holds nothing but this file
mount --make-rprivate / && mkdir -p /usr/lib/debug && mount -t tmpfs none /usr/lib/debug || exit 9
mkdir -p "/usr/lib/debug/.build-id/${2:0:2}" && cp "$1" "/usr/lib/debug/.build-id/${2:0:2}/${2:2}.debug" || exit 9
# and, with ALT and ALT_AT, the file ALT at the place ALT_AT in it
[ -z "${ALT:-}" ] || { mkdir -p "/usr/lib/debug/$(dirname "$ALT_AT")" && cp "$ALT" "/usr/lib/debug/$ALT_AT"; } || exit 9
exec "${@:3}"
END
chmod +x with-debug
start /dev/null ./split
ok 'a debug file by build id: without it' record -F "$hz" -p "$started" 1
named 'a debug file by build id: without it' split ';split@0x[0-9a-f]+;split@0x[0-9a-f]+$'
run unshare -m ./with-debug split.debug "$id" "$WICK" record -F "$hz" -p "$started" -o x.folded 1
is 'a debug file by build id: runs' "$status" 0
named 'a debug file by build id' split ';main;split_outer;split_inner$'
stop "$started"
start /dev/null unshare -m ./with-debug split.debug "$id" ./split
wait_for 10 burned "$started" 5
ok "a debug file in the target's root: runs" record -F "$hz" -p "$started" 1
named "a debug file in the target's root" split ';main;split_outer;split_inner$'
stop "$started"
start /dev/null unshare -m ./with-debug linked.debug "$id" ./split
wait_for 10 burned "$started" 5
ok 'a debug file of another program: runs' record -F "$hz" -p "$started" 1
named 'a debug file of another program is not believed' split ';split@0x[0-9a-f]+;split@0x[0-9a-f]+$'
stop "$started"

# ---- debug files that share a part, made by dwz ----
cat >common.h <<'END'
#include <unistd.h>
struct beast { int feet; const char *name; struct beast *next; };
volatile unsigned long sink;
static inline __attribute__((always_inline)) void shared_innermost(struct beast *beast)
{
	for (unsigned long i = 0; i < 20000; i++)
		sink += i * (unsigned long)beast->feet;
}
static inline __attribute__((always_inline)) void shared_middle(struct beast *beast)
{
	shared_innermost(beast);
}
END
for name in one two three four; do
	cat >dwz$name.c <<-END
		#include "common.h"
		__attribute__((noinline)) void outermost_$name(struct beast *beast)
		{
			shared_middle(beast);
			sink++;
		}
		int main(void) { struct beast beast = { 1, "x", 0 }; alarm(120); for (;;) { outermost_$name(&beast); sink++; } }
	END
	case $name in one | two) kind=shared ;; *) kind=other ;; esac
	sed "s/shared_/${kind}_/" common.h >common-$kind.h
	sed -i "s/common\.h/common-$kind.h/; s/shared_/${kind}_/" dwz$name.c
	gcc -O2 -g -Wl,--build-id=sha1 -o dwz$name dwz$name.c
	objcopy --only-keep-debug dwz$name dwz$name.debug
	strip dwz$name
done
build_id() {
	readelf -n "$1" | awk '/Build ID/ { print $3 }'
}
dwz -m common.debug -M ../../.dwz/zoo/common.debug dwzone.debug dwztwo.debug 2>dwz.err || diag "$(cat dwz.err)"
dwz -m other.debug -M ../../.dwz/zoo/common.debug dwzthree.debug dwzfour.debug 2>dwz.err || diag "$(cat dwz.err)"
ok 'dwz: names are in the shared part alone' test "$(grep -c shared_innermost dwzone.debug) $(grep -c shared_innermost common.debug)" = '0 1'
start /dev/null ./dwzone
dwz=$started
alt_id=$(build_id common.debug)

# with_alt FILE PLACE OPTION...: recorded where that file is at that place
with_alt() {
	run env ALT="$1" ALT_AT="$2" unshare -m ./with-debug dwzone.debug "$(build_id dwzone)" \
		"$WICK" record -F "$hz" -p "$dwz" -o x.folded "${@:3}" 1
	is "dwz, $2 ${*:3}: runs" "$status" 0
}

with_alt common.debug .dwz/zoo/common.debug --inline
named 'dwz: inlined functions, the shared part found by its path' dwzone ';main;outermost_one;shared_middle_\[i\];shared_innermost_\[i\]$'
with_alt common.debug ".build-id/${alt_id:0:2}/${alt_id:2}.debug" --inline --lines
named 'dwz: with lines, the shared part found by its build id' dwzone \
	';outermost_one dwzone\.c:4;shared_middle common-shared\.h:11_\[i\];shared_innermost common-shared\.h:[67]_\[i\]$'
with_alt '' absent --inline
named 'dwz: without the shared part nothing is called what it is not' dwzone ';main;outermost_one(;\[inlined\]_\[i\])*$'
with_alt other.debug .dwz/zoo/common.debug --inline
named 'dwz: the shared part of others is not believed' dwzone ';main;outermost_one(;\[inlined\]_\[i\])*$'
with_alt '' absent
named 'dwz: functions do not need it' dwzone ';main;outermost_one$'
stop "$dwz"

# ---- a program without a path ----
perl -e '
	open my $in, "<", "first"; binmode $in; local $/; my $bytes = <$in>;
	my $fd = syscall(319, my $name = "nowhere", 0); # memfd_create
	open my $out, ">&=", $fd or exit 9; binmode $out; $| = 1; syswrite $out, $bytes;
	$^F = 1000;
	exec { "/proc/self/fd/$fd" } "nowhere"' &
memory=$!
children+=("$memory")
wait_for 10 burned "$memory" 5
comm=$(cat "/proc/$memory/comm")
ok 'memfd: runs' record -F "$hz" -p "$memory" 1
named 'memfd' "$comm" ';main;first_outer;first_inner$'
stop "$memory"

finish
