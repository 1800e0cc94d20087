#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Files of many kinds, damaged in thousands of ways: the worker's code answers about each of them, in a time like that of
# the file as it was and within its memory. MUTATIONS of each, in ways that MUTATIONS_SEED gives.

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

tools=${WICK_TOOLS:-$tests_dir/../build/tests/tools}
build=${WICK_BUILD:-$tests_dir/../build}
count=${MUTATIONS:-300}

cat >"$T/library.c" <<'SOURCE'
static inline __attribute__((always_inline)) int inner(int *p, int n) { return n > 1 ? p[n] + p[n - 1] * n : 1; }
int outer(int *p) { return inner(p, 16) + inner(p, p[3]); }
int many(int n, ...) { volatile char room[n + 1]; room[n] = 1; return room[n] + outer(&n); }
SOURCE
gcc -O2 -g -gz=zlib -fPIC -shared -o "$T/library.so" "$T/library.c"
gcc -O2 -g -fPIC -shared -fno-asynchronous-unwind-tables -o "$T/frames.so" "$T/library.c"
objcopy --only-keep-debug "$T/library.so" "$T/library.debug"
# As Fedora's: stripped, with the symbols packed inside
objcopy --only-keep-debug "$PROGS/shares" "$T/symbols" && objcopy -g "$T/symbols" && xz "$T/symbols"
objcopy -S --add-section .gnu_debugdata="$T/symbols.xz" "$PROGS/shares" "$T/packed"
"$tools/hostilelf" good-map "$T/perf.map" 65536
"$tools/hostilelf" good-dump "$T/jit.dump" 65536
"$tools/hostilelf" good "$T/good" 262144

is 'the packed symbols are read' "$("$tools/served" names "$T/packed" | cut -d' ' -f1)" -
for file in /bin/true "$(gcc -print-file-name=libc.so.6)" "$PROGS/shares" "$T/library.so" "$T/frames.so" "$T/library.debug" \
	"$T/packed" "$build/zoo/go" "$T/good" "$T/perf.map" "$T/jit.dump"; do
	ok "${file##*/}, damaged in $count ways" "$tools/mutate" -s "${MUTATIONS_SEED:-1}" "$count" "$file"
done

finish
