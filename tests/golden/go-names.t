#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Names in Go programs, with symbols and without, against what Go's own tools say of the twin that has them; and against
# the program itself, which looks every address of its code up in its own runtime.

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

command -v go >/dev/null || skip_all "there is no Go compiler"

goname=${WICK_TOOLS:-$tests_dir/../build/tests/tools}/goname
export GO111MODULE=off GOFLAGS='' GOTOOLCHAIN=local GOPROXY=off CGO_ENABLED=0 GOCACHE=${WICK_BUILD:-$T}/gocache HOME=$T

cat >"$T/main.go" <<'END'
package main

import (
	"bufio"
	"fmt"
	"os"
	"reflect"
	"runtime"
)

type shape interface{ area() int }
type square struct{ side int }

func (s square) area() int { return times(s.side, s.side) }
func times(a, b int) int   { return mix(a, b) * b }
func mix(a, b int) int     { return a*7 ^ b>>3 }

//go:noinline
func sum[T any](list []T, f func(T) int) (total int) {
	for _, x := range list {
		total += f(x)
	}
	return total
}

//go:noinline
func outer(n int) int {
	total := 0
	for i := 0; i < n; i++ {
		total += times(i, total)
		total ^= square{i}.area()
	}
	return total
}

// What the runtime knows of each of its addresses: the innermost function there, and the line.
func main() {
	var s shape = square{len(os.Args)}
	words := []string{"a", "b"}
	total := outer(s.area()) + sum(words, func(w string) int { return len(w) })
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	entry := reflect.ValueOf(main).Pointer()
	fmt.Fprintf(out, "main %x %d\n", entry, total)
	for pc := entry - 0x20000; pc < entry+0x1000; pc += 7 {
		frames := runtime.CallersFrames([]uintptr{pc + 1})
		frame, _ := frames.Next()
		if frame.Line > 0 && frame.Entry != pc+1 { // neither between functions nor in the next one
			fmt.Fprintf(out, "%x\t%s %s:%d\n", pc, frame.Function, frame.File, frame.Line)
		}
	}
}
END

build() {
	local output=$1
	shift
	(cd "$T" && go build "$@" -o "$output" main.go)
}

build plain && build stripped -ldflags='-s -w' && build pie -buildmode=pie && build pie-stripped -buildmode=pie -ldflags='-s -w'
is "the programs are built" "$?" 0

# agrees TWIN FILE: start, middle and last byte of every function of the twin have its name in the file, and the bytes
# between functions have none
agrees() {
	# A function that is in two sets of calling rules has .abi0 behind its symbol, and dots of names are other dots.
	go tool nm -size "$T/$1" | perl -ne '
		my ($start, $size, $type, $name) = /^\s*([0-9a-f]+)\s+(\d+)\s+([tT])\s+(.*)$/ or next;
		next if !$size || $name =~ /^(runtime\.(e?text)|go:textfips(start|end)|go:buildid)$/;
		$name =~ s/\.abi(0|internal)$//;
		printf "%x\t%s\n", hex($start) + $_, $name for 0, int($size / 2), $size - 1;' | sort -u >"$T/wanted"
	cut -f1 "$T/wanted" | "$goname" "$T/$2" >"$T/got"
	perl -e '
		open my $wanted, "<", $ARGV[0]; open my $got, "<", $ARGV[1];
		my ($right, $wrong) = (0, 0);
		while (my $line = <$wanted>) {
			chomp $line;
			my ($address, $name) = split /\t/, $line, 2;
			my @list = split /\t/, <$got> =~ s/\n//r;
			my $outer = @list > 1 ? $list[-1] =~ s/ [^ ]*:\d+$//r : "";
			s/\xc2\xb7/./g for $outer, $name;
			if ($list[0] eq $address && $outer eq $name) { $right++ }
			elsif (!$wrong++) { print STDERR "# $address: got \x27$outer\x27, wanted \x27$name\x27\n" }
		}
		print $wrong ? "$wrong of " . ($right + $wrong) . " wrong" : $right > 3000 ? "right" : "only $right";
	' "$T/wanted" "$T/got"
}

is "names, not stripped" "$(agrees plain plain)" right
is "names, stripped" "$(agrees plain stripped)" right
is "names, position independent" "$(agrees pie pie)" right
is "names, position independent and stripped" "$(agrees pie pie-stripped)" right

# The runtime tells a program's addresses as they are in memory: the program that does not move is asked. It leaves out
# what a function is instantiated with.
"$T/plain" | grep -v '^main ' >"$T/told"
cut -f1 "$T/told" | "$goname" "$T/stripped" | cut -f1,2 | sed 's/\[.*\]/[...]/' >"$T/got"
diff "$T/told" "$T/got" >"$T/different"
is "innermost function and line, as the runtime tells" "$(sed -n 2,3p "$T/different")" ""
holds "... of thousands of addresses" "$(wc -l <"$T/told") > 5000"

# Every chain of calls into main.outer is one that the source has.
"$T/plain" | perl -ne 'if (/^main (\w+)/) { my $main = hex $1; printf "%x\n", $main + $_ for -0x400 .. 0x400 }' |
	"$goname" "$T/stripped" | cut -f2- | sed 's/ [^\t]*:[0-9]*//g; s/main\.//g' | grep '\bouter$' | tr '\t' ' ' | sort -u >"$T/chains"
ok "what is inlined into what is inlined" grep -qx 'mix times square.area outer' "$T/chains"
is "... by ways that the source has" "$(grep -vxE '((mix )?times )?(square\.area )?outer' "$T/chains")" ""

finish
