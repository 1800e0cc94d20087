#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Samples before a file's unwind table, of programs with many libraries: each run is of files that nobody has met, and the
# way to the root leads through the library that was mapped first, above a hundred others.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

cd "$T" || exit 1
echo 'int through(int (*next)(int)) { return next(1) + 1; }' >first.c
cat >many.c <<'END_C'
#include <time.h>
int through(int (*next)(int));
static volatile int sink;
__attribute__((noinline)) static int spin(int x)
{
	for (clock_t end = clock() + CLOCKS_PER_SEC / 20; clock() < end;)
		for (int i = 0; i < 200000; i++)
			sink += x;
	return sink;
}
int main(void) { return through(spin) & 0; }
END_C
gcc -O2 -fomit-frame-pointer -shared -fPIC -o libfirst.so first.c
gcc -O2 -fomit-frame-pointer -o many many.c ./libfirst.so
echo 'int nothing(void) { return 0; }' >other.c
gcc -O2 -shared -fPIC -o other.so other.c
others=
for ((i = 0; i < 100; i++)); do
	cp other.so "other$i.so"
	others=$others:$T/other$i.so
done

cat >runs <<'END_RUNS'
#!/bin/bash
for i in {1..20}; do
	mkdir "fresh$i" && cp libfirst.so many "fresh$i" && cd "fresh$i" && LD_PRELOAD=$PWD/libfirst.so$1 ./many
	cd .. && rm -r "fresh$i"
done
END_RUNS
chmod +x runs
for libraries in '' "$others"; do
	name="${libraries:+a hundred}"
	name="${name:-two} libraries"
	ok "$name: runs" record_held -F 999 -- ./runs "$libraries"
	diag "held up for $held ms"
	sums_hold "$name" x.json x.folded
	# While wick gets no CPU, it cannot fetch what waits for a table, nor open files that are about to go. There is room for
	# some of that; the rest says that the table was not there, and is no more than what was sampled meanwhile.
	holds "$name: whole from the first sample on" "$(held=$held perl -ne '
		s/ (\d+)$// or next;
		my $n = $1;
		next unless /^many;.*;spin(;|$)/;
		$all += $n;
		$late += $n if /^many;\[incomplete: no_table\];/;
		$whole += $n if /^many;_start;.*;main;through;spin(;|$)/;
		END {
			my $most = 999 * $ENV{held} / 1000;
			my $excused = ($late // 0) < $most ? $late // 0 : $most;
			printf "%d > 500 && %d + %d >= 0.99 * %d", $all // 0, $whole // 0, $excused, $all // 0;
		}' x.folded)" || diag "$(grep '^many;' x.folded | grep -v ';main;through;spin' | head -3)"
done

finish
