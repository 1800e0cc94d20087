#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Files that were made to be hard to read (tests/tools/hostilelf), asked about as the worker does: each is answered, in
# a time in proportion to that of a well-formed file of the same size, and within the worker's memory.

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

tools=${WICK_TOOLS:-$tests_dir/../build/tests/tools}
factor=20 # times as long as a well-formed file
# Of lines and inlined functions, whose cost nobody but libdw knows: wick's own program has some
lines_factor=80

# served KIND FILE: REASON CPU_US RSS_KIB BYTES, the least time of three
served() {
	"$tools/served" "$1" "$2" 3
}

# MODE KIND REASON: what is known of the answer beforehand
declare -A wanted=(
	[sections,rows]=unwind_too_big [sections,names]=too_complex [notes,names]=stripped [offsets34000,rows]=unwind_too_big
	[sparse,rows]=unwind_too_big [beyond,rows]=no_unwind_info [cie,rows]=unwind_too_big [remember,rows]=unwind_too_big
	[go,names]=too_complex [xzbomb,names]=too_big [zbomb,rows]=no_unwind_info [zbomb-info,lines]=too_big
	[units,lines]=dwarf_budget [attributes,lines]=dwarf_budget [ranges,lines]=dwarf_budget
	[good,rows]=- [good,names]=- [good-map,jit]=- [good-dump,jit]=-
)
declare -A usual # microseconds for a well-formed file, and its bytes

# judge MODE KIND FILE
judge() {
	local mode=$1 kind=$2 size reason us rss
	size=$(stat -c %s "$3")
	read -r reason us rss _ < <(served "$kind" "$3")
	is "$mode, $kind: it is answered" "${reason%%-[0-9]*}" "${wanted[$mode,$kind]:-${reason/died*/an answer}}"
	holds "$mode, $kind: in a time like that of others ($us us)" "
		my \$times = $size > ${usual[$kind-bytes]} && $size < 1e9 ? $size / ${usual[$kind-bytes]} : 1;
		$us <= $([ "$kind" = lines ] && echo "$lines_factor" || echo "$factor") * ${usual[$kind]} * \$times"
	holds "$mode, $kind: within the worker's memory" "$rss < (512 << 10) + 65536"
}

make_usual() {
	local us
	read -r _ us _ < <(served "$1" "$2")
	usual[$1]=$us usual[$1-bytes]=$(stat -c %s "$2")
}

"$tools/hostilelf" good "$T/good"
"$tools/hostilelf" good-map "$T/good-map"
make_usual rows "$T/good"
make_usual names "$T/good"
make_usual jit "$T/good-map"
make_usual lines "$WICK"
diag "a well-formed file: rows ${usual[rows]}, names ${usual[names]}, lines ${usual[lines]}, jit ${usual[jit]} us"

while read -r mode kinds _; do
	"$tools/hostilelf" "$mode" "$T/file"
	for kind in ${kinds//,/ }; do
		judge "$mode" "$kind" "$T/file"
	done
done < <("$tools/hostilelf")

finish
