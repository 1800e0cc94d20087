#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What wick writes for pprof, in the hands of `go tool pprof` itself: it reads it without a warning, with the same
# totals, subtracts one from another, and finds the functions of a profile without names by its addresses; and of a Go
# program's heap profile it says the same whichever way that went through wick. Needs no root.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

command -v go >/dev/null || skip_all "there is no Go"

export HOME=$T PPROF_TMPDIR=$T GOTOOLCHAIN=local GO111MODULE=off GOFLAGS='' GOPROXY=off GOCACHE=${WICK_BUILD:-$T}/gocache
busy=$tests_dir/golden/busy.wick

# Go builds it when it is first asked for, which takes a while.
pprof=$(timeout 600 go tool -n pprof) || skip_all "there is no pprof in this Go"

# reads NAME ARGUMENT...: pprof ends well and has nothing to complain about
reads() {
	local name=$1
	shift
	run "$pprof" "$@"
	is "$name: exit" "$status" 0
	is "$name: no warning" "$(cat "$T/stderr")" ""
}

run "$WICK" convert "$busy" -o "$T/busy.pb.gz" -o "$T/busy.folded"
is "convert: exit" "$status $(cat "$T/stderr")" "0 "
total=$(folded_sum "$T/busy.folded")

reads "-top" -top -nodefraction=0 -sample_index=samples "$T/busy.pb.gz"
ok "-top: the total" grep -q "Total samples = $total " "$T/stdout"
ok "-top: the main program" grep -qx 'File: redis-server' "$T/stdout"
ok "-top: losses" grep -q '^lost: ring 3: ' "$T/stdout"
ok "-top: duration" grep -q '^Duration: 10s' "$T/stdout"
ok "-top: time" grep -q '^Time: 2023-11-14 22:13:20 UTC' "$T/stdout"
# What ends where, against the folded text; pprof shortens names of templates.
sed 's/ \([0-9]*\)$/;\1/' "$T/busy.folded" | awk -F';' '{ name = NF > 2 ? $(NF - 1) : ""; sub(/_\[[kji]\]$/, "", name)
	sub(/<.*>/, "", name); flat[name] += $NF } END { for (n in flat) if (n != "") print flat[n], n }' | sort >"$T/wanted"
perl -ne 'print "$1 $2\n" if s/ \((partial-)?inline\)$// + 1 && /^ +([1-9]\d*) +\S+% +\S+% +\d+ +\S+% +(.*)/' "$T/stdout" | sort >"$T/got"
is "-top: every function, with its samples" "$(diff "$T/wanted" "$T/got")" ""

reads "-top by time" -top "$T/busy.pb.gz"
ok "time is what comes by itself" grep -qx 'Type: cpu' "$T/stdout"
ok "and is samples times period" grep -q 'Total samples = 15.96s (159.60%)' "$T/stdout"

reads "-raw" -raw "$T/busy.pb.gz"
ok "-raw: types" grep -qx 'samples/count cpu/nanoseconds\[dflt\]' "$T/stdout"
ok "-raw: period" grep -qx 'Period: 10101010' "$T/stdout"
is "-raw: the samples add up" "$(sed -n '/^samples\/count/,/^Locations/s/^ *\([0-9]*\) *[0-9]*: .*/\1/p' "$T/stdout" |
	awk '{ sum += $1 } END { print sum }')" "$total"
ok "-raw: labels are numbers and texts" grep -q 'pid:\[812\] tid:\[813\]' "$T/stdout"
ok "-raw: the container" grep -q 'container:\[shop-frontend\] unit:\[web.service\]' "$T/stdout"

reads "-traces" -traces -sample_index=samples "$T/busy.pb.gz"
is "-traces: the samples that have a stack add up" \
	"$(sed -n 's/^ *\([0-9][0-9]*\)   *[^ :].*/\1/p' "$T/stdout" | awk '{ sum += $1 } END { print sum }')" \
	"$(grep ';' "$T/busy.folded" | awk '{ sum += $NF } END { print sum }')"
reads "-tags" -tags -sample_index=samples "$T/busy.pb.gz"
ok "-tags: a process" grep -qE '^ +852 .*: 812$' "$T/stdout"
reads "-comments" -comments "$T/busy.pb.gz"
ok "-comments: what made it" grep -qx '# wick 0.1.0, wick record --threads 10, shop1, 6.1.0, x86_64' "$T/stdout"
run "$WICK" convert "$T/busy.pb.gz" -o "$T/comments.wick"
run "$WICK" merge "$T/comments.wick" "$T/busy.pb.gz" -o "$T/comments.pb.gz"
reads "-comments, by way of .wick" -comments "$T/comments.pb.gz"
is "-comments, by way of .wick and merged with itself: once" "$(grep -c '^# wick 0.1.0, ' "$T/stdout")" 1
run "$pprof" -top -sample_index=samples -tagfocus pid=812 "$T/busy.pb.gz"
ok "-tagfocus: by number" grep -q '^Showing nodes accounting for 8[0-9]*, .* of 1580 total' "$T/stdout"

# ---- One from another ----

run "$WICK" convert "$T/busy.folded" -o "$T/before.pb.gz"
sed 's/ 356$/ 400/; s/ 120$/ 20/' "$T/busy.folded" >"$T/after.folded"
run "$WICK" convert "$T/after.folded" -o "$T/after.pb.gz"
reads "-diff_base" -top -diff_base "$T/before.pb.gz" "$T/after.pb.gz"
ok "-diff_base: what grew" grep -qE '^ +44 .* luaV_execute$' "$T/stdout"
ok "-diff_base: what shrank" grep -qE '^ +-100 .* luaH_getstr$' "$T/stdout"
reads "-diff_base of itself" -top -diff_base "$T/busy.pb.gz" "$T/busy.pb.gz"
ok "-diff_base of itself: nothing" grep -q '^Showing nodes accounting for 0, 0% of' "$T/stdout"
reads "merged" -top -sample_index=samples "$T/busy.pb.gz" "$T/busy.pb.gz"
ok "merged: twice as many" grep -q "Total samples = $((2 * total)) " "$T/stdout"

printf 'sh;main;a 3\nsh;main;b 4\n' >"$T/names.folded"
run "$WICK" convert "$T/names.folded" -o "$T/names.pb.gz"
reads "names alone" -top "$T/names.pb.gz"
ok "names alone: the total" grep -q ' of 7 total' "$T/stdout"

# ---- Much of it: packed as it is written ----

perl -e 'print "sh;main;f$_;g$_ 2\n" for 1 .. 30000' | LC_ALL=C sort >"$T/many.folded"
run "$WICK" convert "$T/many.folded" -o "$T/many.pb.gz"
is "many: exit" "$status $(cat "$T/stderr")" "0 "
reads "many" -top "$T/many.pb.gz"
ok "many: the total" grep -q ' of 60000 total' "$T/stdout"
run "$WICK" convert "$T/many.pb.gz" -o "$T/back.folded"
is "many: the same stacks come back" "$(LC_ALL=C sort "$T/back.folded" | diff "$T/many.folded" - | head -n 3)" ""

# ---- A Go program's heap: four types of values, and sizes as labels that are numbers ----

heap=$tests_dir/golden/heap.pb.gz
run "$WICK" convert "$heap" -o "$T/direct.pb.gz" -o "$T/heap.wick"
run "$WICK" convert "$T/heap.wick" -o "$T/by-wick.pb.gz"
is "heap: convert" "$status" 0
# raw FILE: its samples with their labels, and the head, in an order of their own
raw() {
	"$pprof" -raw "$1" 2>&1 | sed -n '1,/^Locations/p' | sed 's/: [0-9 ]*$//' |
		perl -0777 -pe 's/\n {16}/ /g' | sort
}
raw "$heap" >"$T/wanted"
ok "heap: the labels are numbers" grep -qE '^ +10 +40960 +10 +40960 bytes:\[4096\]$' "$T/wanted"
ok "heap: what the period is of" grep -qx 'PeriodType: space bytes' "$T/wanted"
for way in direct by-wick; do
	is "heap, $way: samples, types, period and labels" "$(raw "$T/$way.pb.gz" | diff "$T/wanted" -)" ""
	for type in alloc_objects alloc_space inuse_objects inuse_space; do
		run "$pprof" -top -nodefraction=0 -sample_index=$type "$heap"
		cp "$T/stdout" "$T/top"
		reads "heap, $way, $type" -top -nodefraction=0 -sample_index=$type "$T/$way.pb.gz"
		is "heap, $way, $type: the same table" "$(diff "$T/top" "$T/stdout")" ""
		run "$pprof" -traces -sample_index=$type "$heap"
		cp "$T/stdout" "$T/traces"
		reads "heap, $way, $type, -traces" -traces -sample_index=$type "$T/$way.pb.gz"
		is "heap, $way, $type: the same traces" "$(diff "$T/traces" "$T/stdout")" ""
	done
done
run "$WICK" merge "$T/heap.wick" "$heap" -o "$T/twice.pb.gz"
reads "heap, merged" -top -sample_index=alloc_objects "$T/twice.pb.gz"
ok "heap, merged: twice as many, in a type that is not shown" grep -q ' of 110 total' "$T/stdout"
run "$WICK" convert "$heap" -o "$T/one.fx.json" # which has room for one type
run "$WICK" merge "$heap" "$T/one.fx.json" -o "$T/left.pb.gz"
ok "heap, merged with another type alone: said" \
	grep -qx "wick: '$T/one.fx.json': it has other types of values than what it is added to: inuse_space alone are left" "$T/stderr"
reads "heap, merged with another type alone" -raw "$T/left.pb.gz"
ok "heap, merged with another type alone: what is left" grep -qx 'bytes/bytes\[dflt\]' "$T/stdout"
run "$WICK" convert --focus '^main.drop$' --hide '^main.main$' "$T/heap.wick" -o "$T/drop.pb.gz"
reads "heap, filtered" -top -sample_index=alloc_space "$T/drop.pb.gz"
ok "heap, filtered: what was allocated and is gone" grep -qE '^Showing nodes .* of 85kB total' "$T/stdout"
is "heap, filtered: who calls it is hidden" "$(grep -c 'main.main' "$T/stdout")" 0
for file in "$heap" "$T/heap.wick"; do
	run "$WICK" convert -f folded --type alloc_space "$file"
	is "heap, --type of ${file##*.}: exit" "$status $(cat "$T/stderr")" "0 "
	ok "heap, --type of ${file##*.}: its values" grep -qx 'runtime.main;main.main;main.drop 87040' "$T/stdout"
	run "$WICK" convert -f folded --type nope "$file"
	is "heap, --type of ${file##*.}: one that is not there" "$status $(cat "$T/stderr")" \
		"1 wick: reading '$file': --type: 'nope' is not in it: it has alloc_objects, alloc_space, inuse_objects, inuse_space"
	run "$WICK" report "$file"
	ok "report of ${file##*.}: what is in use" grep -q '44,688 bytes' "$T/stdout"
done
run "$WICK" convert --type alloc_space "$heap" -o "$T/space.pb.gz"
reads "heap, written with --type" -top "$T/space.pb.gz"
ok "heap, written with --type: what comes by itself" grep -qx 'Type: alloc_space' "$T/stdout"

# ---- Addresses: without names, pprof finds them in the file ----

program=$PROGS/shares
address=$(nm "$program" | awk '$3 == "hot70" { print $1 }')
vaddr=$(readelf -lW "$program" | awk '$1 == "LOAD" && /R E/ { print $3, $2 }')
offset=$(perl -e 'printf "%x", hex($ARGV[0]) - hex($ARGV[1]) + hex($ARGV[2]) + 4' -- "$address" "${vaddr% *}" "${vaddr#* }")
run "$WICK_TOOLS/mkraw" "$(readlink -f "$program")" "$offset"
cp "$T/stdout" "$T/raw.wick"
run "$WICK" convert "$T/raw.wick" -o "$T/raw.pb.gz"
is "raw: exit" "$status $(cat "$T/stderr")" "0 "
reads "raw" -top "$T/raw.pb.gz"
ok "raw: the function at that offset" grep -qE ' 100% +hot70$' "$T/stdout"

finish
