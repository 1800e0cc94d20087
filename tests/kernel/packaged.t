#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# No wrong name on real programs: a load of packaged ones is recorded, and every place in every file that was sampled is
# asked of eu-addr2line, readelf and objdump as well, every place in the kernel of kallsyms.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

listframes=${WICK_TOOLS:-$tests_dir/../build/tests/tools}/listframes
cd "$T" || exit 1

cat >load <<'END'
#!/bin/bash
# load FILE SOURCES: what machines do, each for about a second, with whichever of the programs are there
have() { command -v "$1" >/dev/null; }
file=$1 sources=$2
perl -e 'my %h; $h{$_ % 1000} .= "x$_" for 1 .. 400000; my @s = sort { $a cmp $b } values %h; print "@s" =~ tr/x//, "\n"'
for ((i = 0; i < 30000; i++)); do x=$x$((i % 7)); case $x in *66*) x= ;; esac; done
gcc -O2 -D_GNU_SOURCE -I"$sources" -c -o o.o "$sources/elf/cfi.c"
head -c 6000000 "$file" | xz -1 | xz -d | cksum
head -c 12000000 "$file" | gzip | gzip -d | cksum
awk 'BEGIN { for (i = 0; i < 400000; i++) a[i % 100] = a[i % 100] i % 3; print length(a[3]) }'
find /usr/share /usr/lib -name '*.[hs]*' 2>/dev/null | sort | sed 's/[aeiou]//g' | uniq -c | md5sum
grep -rcE 'ma(in|x)|sta.*ic' /usr/include | sort -t: -k2n | tail -1
if have python3; then
	python3 -c '
import hashlib, json, re
text = json.dumps({str(i): [i] * 20 for i in range(30000)})
print(len(re.findall("[0-9]+1", text)), hashlib.sha256(text.encode()).hexdigest(), len(sorted(text)))'
fi
if have openssl; then openssl speed -seconds 1 -bytes 1024 sha256 aes-128-cbc 2>&1; fi
if have sqlite3; then
	sqlite3 :memory: 'with recursive c(x) as (select 1 union all select x + 1 from c where x < 400000)
		select sum(x * x), count(distinct x % 97) from c'
fi
true
END
chmod +x load
run "$WICK" record -F 997 --demangle no -o x.wick --stats x.json -- ./load "$(readlink -f "$WICK")" "$tests_dir/../src"
is 'packaged programs: runs' "$status" 0 || diag "$(tail -3 stderr)"
"$listframes" x.wick >frames
holds 'a load worth the name' "$(grep -c '^user' frames) > 1500 && $(grep -c '^kernel' frames) > 200 && $(grep '^user' frames | cut -f2 | sort -u | wc -l) >= 15"
is 'nobody died' "$(stat_of x.json .notes.worker_deaths)" 0
"$tests_dir/framesagree" <frames >agree 2>&1
is 'names agree with eu-addr2line, readelf, objdump and kallsyms' "$?" 0 || diag "$(head -12 agree)"
diag "$(tail -1 agree)"

# Few places have no name: what linkers and assembly leave between functions
holds 'hardly a place without a name' \
	"$(awk -F'\t' '$1 == "user" && $4 == "-"' frames | wc -l) < 0.01 * $(grep -c '^user' frames)" ||
	diag "$(awk -F'\t' '$1 == "user" && $4 == "-"' frames | cut -f2,3 | sort | head -12)"

finish
