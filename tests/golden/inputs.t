#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Profiles of other tools on the command line: known by their content, packed or not; --type, --salvage, and one line
# about what cannot be read. Needs no root. The files are the small ones of tests/fuzz/corpus, in the tools' own shapes.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

corpus=$tests_dir/fuzz/corpus

# folds NAME FOLDED NOTE ARGUMENT...: the stacks, and what is said on standard error (empty: nothing)
folds() {
	local name=$1 folded=$2 note=$3
	shift 3
	run "$WICK" convert -f folded "$@"
	is "$name: exit" "$status" 0
	is "$name: stacks" "$(cat "$T/stdout")" "$folded"
	if [ -z "$note" ]; then
		is "$name: says nothing" "$(cat "$T/stderr")" ""
	else
		is "$name: one line" "$(grep -c '' "$T/stderr") $(grep -c '^wick: ' "$T/stderr")" "1 1"
		ok "$name: $note" grep -qF -e "$note" "$T/stderr"
	fi
}

# refuses NAME WORDS ARGUMENT...
refuses() {
	local name=$1 words=$2
	shift 2
	run "$WICK" convert -f folded "$@"
	is "$name: exit" "$status" 1
	is "$name: one line" "$(grep -c '' "$T/stderr") $(grep -c '^wick: ' "$T/stderr")" "1 1"
	ok "$name: $words" grep -qF -e "$words" "$T/stderr"
	is "$name: nothing is written" "$(cat "$T/stdout")" ""
}

# ---- Each format, by its content ----

folds "perf script" "a;_start;main 1" "" "$corpus/perf/srcline"
folds "perf script, a sample a line" "cc1;vm_normal_page_[k] 1
dd;parse 1" "" "$corpus/perf/one-line"
folds "bpftrace" "swapper/0 40
bash;0x7f12ab;main;entry_SYSCALL_64_after_hwframe_[k];do_syscall_64_[k];native_safe_halt_[k] 12
cc1;hash_table<decl, false>::find(tree_node* const&, unsigned int) 3" "--type reads others: @b" "$corpus/bpftrace/text"
folds "bpftrace -f json" "sh;main;entry_SYSCALL_64_after_hwframe_[k];do_syscall_64_[k] 2
cc1;f();0xb96b80 1" "" "$corpus/bpftrace/json"
folds "bcc" "x;b;a_[k] 3" "" "$corpus/bcc/annotated"
folds "pprof" "app;app+0x1200;main;work x.c:7_[i];vfs_read_[k] 5
app+0x1200 1" "" "$corpus/pprof/all"
folds "Firefox" "x 7
x;main;inl_[i] 1
x;main;inl_[i];vfs_read_[k] 1" "" "$corpus/firefox/shared"
folds "speedscope, by wick" "sh;[incomplete: depth];read_[k] 2" "" "$corpus/speedscope/by-wick"

# ---- Folded stacks that must be read twice: what the first lines look like, the last is not ----

perl -e 'print "sh", $_ % 7, ";main;f", $_ % 1000, " ", 1 + $_ % 3, "\n" for 1 .. 40000;
	print "longer_than_a_task_may_be_called;main 7\n"' >"$T/late"
perl -e 'print "sh;main;f", $_ % 1000, " 1 ", 1 + $_ % 3, "\n" for 1 .. 40000; print "sh;main 7\n"' >"$T/single"
for file in late single; do
	"$WICK" convert -f folded "$T/$file" >"$T/direct"
	is "$file: the sum" "$(folded_sum "$T/direct")" "$(folded_sum "$T/$file")"
	is "$file: the last line" "$(grep -c ';main 7$' "$T/direct")" 1
	ok "$file: the same through a pipe" cmp "$T/direct" <("$WICK" convert -f folded - < <(cat "$T/$file"))
	for packer in gzip zstd xz; do
		"$packer" -c <"$T/$file" >"$T/packed"
		ok "$file: the same packed with $packer" cmp "$T/direct" <("$WICK" convert -f folded "$T/packed")
		ok "$file: the same with $packer and a pipe" cmp "$T/direct" <("$WICK" convert -f folded - < <(cat "$T/packed"))
	done
done

# ---- Packed ----

for packer in gzip zstd xz; do
	"$packer" -c <"$corpus/bcc/annotated" >"$T/packed"
	folds "$packer" "x;b;a_[k] 3" "" "$T/packed"
	run "$WICK" convert -f folded - <"$T/packed"
	is "$packer, from a pipe" "$(cat "$T/stdout")" "x;b;a_[k] 3"
	head -c 20 "$T/packed" >"$T/cut"
	refuses "$packer, cut short" "it was packed with $packer" "$T/cut"
done

# ---- Several kinds of values ----

folds "two counts" "sh;b 5
sh;a 2" "values are after; --type reads others: before" "$corpus/folded/two-counts"
folds "two counts, the first" "sh;c 3
sh;a 1" "" --type before "$corpus/folded/two-counts"
folds "pprof, by name" "app;app+0x1200;main;work x.c:7_[i];vfs_read_[k] 50
app+0x1200 10" "" --type cpu "$corpus/pprof/all"
refuses "a type that is not there" "--type: 'x' is not in it: it has samples, cpu" --type x "$corpus/pprof/all"
run "$WICK" report --type bytes "$corpus/speedscope/all"
is "report takes it too: exit" "$status" 0
ok "report takes it too" grep -q "10 bytes" "$T/stdout"

# ---- Damaged ----

refuses "cut perf script" "reading '$corpus/perf/cut': line 5: cut off in the middle of a frame" "$corpus/perf/cut"
folds "cut perf script, salvaged" "a;main 1" "1 record kept, the rest is left out: line 5" --salvage "$corpus/perf/cut"
folds "cut bpftrace, salvaged" "sh;a 5" "1 record kept" --salvage "$corpus/bpftrace/cut"
folds "cut bcc, salvaged" "x;a 3" "1 record kept" --salvage "$corpus/bcc/cut"
refuses "nothing whole in it" "sample 2: location 3 is not in the file" --salvage "$corpus/pprof/cut-early"
head -c $(($(stat -c %s "$tests_dir/golden/busy.wick") * 95 / 100)) "$tests_dir/golden/busy.wick" >"$T/cut.wick"
refuses "cut .wick" "cut short" "$T/cut.wick"
run "$WICK" convert -f folded --salvage "$T/cut.wick"
is "cut .wick, salvaged: exit" "$status" 0
ok "cut .wick, salvaged: says how much" grep -q "records kept" "$T/stderr"
is "cut .wick, salvaged: all samples" "$(folded_sum "$T/stdout")" \
	"$("$WICK" convert -f folded "$tests_dir/golden/busy.wick" | awk '{ n += $NF } END { print n }')"
printf 'a;b 1\n' >"$T/long"
head -c 20000000 /dev/zero | tr '\0' x >>"$T/long"
refuses "a line without end" "a line of more than 16 MiB" "$T/long"
head -c 100000000 /dev/zero | tr '\0' x | sed 's/^/{"a":"/' | gzip -1 >"$T/bomb"
refuses "a file that unpacks to much too much" "no profile does" "$T/bomb"

# ---- A Go program's own profile ----

mkdir "$T/go"
cat >"$T/go/main.go" <<'GO'
package main

import (
	"os"
	"runtime/pprof"
	"time"
)

func spin() (n int) {
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
		n++
	}
	return
}

func main() {
	f, _ := os.Create(os.Args[1])
	pprof.StartCPUProfile(f)
	spin()
	pprof.StopCPUProfile()
	f.Close()
}
GO
run env GO111MODULE=off GOFLAGS='' GOTOOLCHAIN=local GOPROXY=off GOCACHE="$WICK_BUILD/gocache" \
	go build -o "$T/go/spin" "$T/go/main.go"
if [ "$status" -eq 0 ] && "$T/go/spin" "$T/go/cpu.pb.gz"; then
	run "$WICK" convert -f folded "$T/go/cpu.pb.gz"
	is "Go: exit" "$status" 0
	samples=$(folded_sum "$T/stdout")
	ok "Go: its functions" grep -q 'main.main;main.spin' "$T/stdout"
	run "$WICK" convert -f folded --type cpu "$T/go/cpu.pb.gz"
	is "Go: no value is lost" "$(folded_sum "$T/stdout")" "$((samples * 10000000))"
	holds "Go: there are samples" "$samples > 0"
elif [ -n "${CI:-}" ]; then
	flunk "Go: its program is built and runs: $(head -c 300 "$T/stderr")"
else
	skip "Go: its own profile" "no Go"
fi

finish
