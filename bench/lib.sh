# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What the measurements share: a scratch folder, words, costs noted as lines "TOOL NAME VALUE" in $T/data, and awk
# functions that turn those into medians with their range and into ratios that are reached or not.
#
# From the environment: WICK, the program to measure, and BENCH, the folder with the programs of bench/progs.

export LC_ALL=C PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
bench_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
WICK=${WICK:-$bench_dir/../build/wick}
BENCH=${BENCH:-$bench_dir/../build/bench}
T=$(mktemp -d "${TMPDIR:-/tmp}/wick-bench.XXXXXX")
load=()

# perf is neither slowed down nor helped by what the user has at home.
export PERF_CONFIG=/dev/null PERF_BUILDID_DIR=$T/buildid

cleanup() {
	[ ${#load[@]} -eq 0 ] || kill -KILL "${load[@]}" 2>/dev/null || true
	wait 2>/dev/null || true
	rm -rf "$T"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

die() {
	echo "bench: $*" >&2
	exit 1
}

say() {
	[ ! -t 2 ] || printf '\r\033[K%s' "$*" >&2
}

# need TOOL...: root, and each of these
need() {
	local tool
	[ "$(id -u)" -eq 0 ] || die "needs root: sudo $0"
	for tool; do
		command -v "$tool" >/dev/null || die "$tool is not there: make bench builds and installs what it needs"
	done
}

note() {
	echo "$1 $2 $3" >>"$T/data"
}

cost_of() {
	awk -v name="$2" '$1 == name { print $2; found = 1 } END { exit !found }' "$1"
}

# note_cost TOOL FILE NAME...: some of what bench/progs/cost wrote
note_cost() {
	local tool=$1 file=$2 name
	shift 2
	for name; do
		note "$tool" "$name" "$(cost_of "$file" "$name")"
	done
}

cost() {
	"$BENCH/cost" "$@" 2>"$T/stderr" || die "$*: $(cat "$T/stderr")"
}

# For reading $T/data: median(tool, name), cell(tool, name, format, unit) with the range, target(…), `missed`
# shellcheck disable=SC2034 # for those who source this
medians='
	{ value[$1, $2, ++count[$1, $2]] = $3 + 0 }

	function sorted(key, n,    i, j, t) {
		for (i = 1; i <= n; i++)
			v[i] = value[key, i]
		for (i = 2; i <= n; i++)
			for (j = i; j > 1 && v[j - 1] > v[j]; j--) {
				t = v[j]; v[j] = v[j - 1]; v[j - 1] = t
			}
	}
	function median(tool, name,    n) {
		n = count[tool, name]
		sorted(tool SUBSEP name, n)
		return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
	}
	function cell(tool, name, format, unit,    n, middle) {
		n = count[tool, name]
		if (!n)
			return "-"
		middle = median(tool, name)
		return sprintf(format " (" format " to " format ")", middle / unit, v[1] / unit, v[n] / unit)
	}
	function target(title, got, most, format) {
		printf "%-52s " format ", at most " format ": %s\n", title, got, most, got <= most ? "reached" : "NOT reached"
		missed += !(got <= most)
	}'
