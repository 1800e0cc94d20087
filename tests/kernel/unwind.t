#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Stacks of programs without frame pointers, frame by frame against gdb's of the same processes: every program of the
# zoo stands still in its stack, wick samples it, and gdb is asked at each instruction where it may have been sampled.
#
#   unwind.t [NAME...]    only these

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

zoo=${WICK_BUILD:-$tests_dir/../build}/zoo
batch=12
names=() commands=() steps=() roots=() pids=() tids=()
chosen=("$@")

# animal NAME STEPS ROOT PROGRAM [ARGUMENT...]: ROOT is the name of the outermost function, ? where gdb knows none
animal() {
	[ ${#chosen[@]} -eq 0 ] || [[ " ${chosen[*]} " == *" $1 "* ]] || return 0
	names+=("$1")
	steps+=("$2")
	roots+=("$3")
	shift 3
	commands+=("$*")
}

# The name of a process is that of the link by which it was started.
begin() {
	local name=${names[$1]} program rest
	read -r program rest <<<"${commands[$1]}"
	mkdir -p "$T/$name"
	ln -s "$zoo/$program" "$T/$name/$name"
	# shellcheck disable=SC2086 # a list of words
	start "$T/$name/words" env ZOO="$zoo" ${environment[$name]:-} "$T/$name/$name" $rest
}

is_ready() {
	grep -q '^ready ' "$T/$1/words"
}

# ready INDEX: $pid and $tid of what has the stack
ready() {
	wait_for 20 is_ready "${names[$1]}" && read -r _ pid tid < <(grep '^ready ' "$T/${names[$1]}/words")
}

all_burned() {
	local each
	for each in "${pids[@]}"; do
		burned "$each" 40 || return 1
	done
}

# stops INDEX: what gdb says; all others stand still
stops() {
	ready "$1" && kill -CONT "$pid" && cat "/proc/$pid/maps" >"$T/${names[$1]}/maps" &&
		timeout -k 5 60 gdb -nx -batch -p "$pid" -ex "set \$tid=$tid" -ex "set \$steps=${steps[$1]}" \
			-x "$tests_dir/unwind/stops.py" >"$T/${names[$1]}/stops" 2>"$T/${names[$1]}/gdb"
	kill -STOP "$pid"
}

# visit FIRST PAST: starts them, samples them all at once, asks gdb about each
visit() {
	local i started_here=()
	pids=() tids=()
	for ((i = $1; i < $2; i++)); do
		begin "$i"
		started_here+=("$started")
		if ready "$i"; then
			pids+=("$pid")
			tids+=("$tid")
			[ "$pid" = "$started" ] || children+=("$pid")
		fi
	done
	record_start --raw -F 999 -t "$(IFS=, && echo "${tids[*]}")"
	wait_for 60 all_burned
	end "$started"
	[ "$status" = 0 ] || diag "$(cat "$T/wick.out")"
	kill -STOP "${pids[@]}"
	for ((i = $1; i < $2; i++)); do
		stops "$i"
		is "${names[$i]}" "$("$tests_dir/unwind/compare" "$T/x.folded" "${names[$i]}" "$T/${names[$i]}/stops" \
			"$T/${names[$i]}/maps" "${roots[$i]}" 2>&1)" agree
	done
	stop "${started_here[@]}" "${pids[@]}"
}

# Go interrupts what runs for long, to let others run
declare -A environment=([plt-resolve]='LD_BIND_NOT=1' [cet-resolve]='LD_BIND_NOT=1' [go-go]='GODEBUG=asyncpreemptoff=1')

# One source in many builds
for build in plain plain-nopie plain-static plain-staticpie plain-clang plain-fp plain-cet plain-gz; do
	animal "$build" 40 _start "$build"
done
# Debian's musl has no CFI: its qsort is as far as anybody gets
animal musl 40 'lost:\[incomplete: no_frame_pointer\]' plain-musl
animal musl-static 40 'lost:\[incomplete: no_frame_pointer\]' plain-muslstatic

# What only .debug_frame says: as it is, compressed, in a file of its own
animal plain-frames 40 _start plain-frames
animal plain-gzframes 40 _start plain-gzframes
animal plain-split 40 _start plain-split

for mode in catch destructor terminate backtrace; do
	animal "ex-$mode" 40 _start exceptions "$mode"
	animal "exs-$mode" 40 _start exceptions-static "$mode"
done
animal rust 40 _start rust
animal rust-drop 40 _start rust panic
# Go's asmcgocall changes stacks, which its CFI does not say: gdb ends there, wick goes on
animal go-c 40 'lost:(go\+0x\w+;?){6,}' go
animal go-go 100 'runtime.goexit.*' go pure

animal threads 40 '\?|clone3' threads
animal threads-static 40 clone3 threads-static
for mode in normal alt nested fault; do
	animal "signal-$mode" 40 _start signals "$mode"
	animal "sig-st-$mode" 40 _start signals-static "$mode"
done
animal signal-musl 40 'lost:\[incomplete: \w+\](;(libc.so|signals-musl)\+0x\w+)*' signals-musl
animal context 40 '\?|__start_context' context
animal vfork 40 _start vfork
animal deep 12 _start deep
animal tail 40 _start tail
animal variable 40 _start variable
animal realign 40 _start realign
animal realign-clang 40 _start realign-clang
animal loads 40 _start loads "$zoo/libloaded.so"
animal edges 40 _start edges

# Leaves that move: in stubs, in the dynamic linker, in the vDSO, in the kernel
animal plt 300 _start plt
animal plt-cet 300 _start plt-cet
animal plt-now 300 _start plt-now
animal plt-resolve 4000 _start plt
animal cet-resolve 4000 _start plt-cet
animal clock 400 _start clock
animal getppid 100 _start clock calls

# Frames kept in every way that CFI can say; "far" has a function of another file above them
for mode in rbx r12 deref deref-plus plus ra-register kept-rbp other-stack; do
	animal "asm-$mode" 40 _start assembly "$mode"
	animal "far-$mode" 40 _start assembly "$mode" far
done
animal asm-leaf-rdi 40 _start assembly leaf-rdi
animal asm-states 200 _start assembly states

[ ${#names[@]} -gt 0 ] || exit 2
for ((first = 0; first < ${#names[@]}; first += batch)); do
	visit "$first" $((first + batch < ${#names[@]} ? first + batch : ${#names[@]}))
done

finish
