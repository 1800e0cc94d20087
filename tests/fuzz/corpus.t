#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs every fuzz target of $FUZZERS over its corpus, once; with FUZZ_TIME, fuzzes on from there for that many seconds.
# What is found stays in build/fuzz/found: an input that crashes belongs into the corpus with its fix.

set -u

corpora=$(dirname "$0")/corpus
found=$WICK_BUILD/fuzz/found
read -ra names <<<"$FUZZERS"
echo "1..${#names[@]}"

run_target() {
	local name=$1 count
	count=$(find "$corpora/$name" -type f 2>/dev/null | wc -l)
	if [ "$count" -eq 0 ]; then
		echo "tests/fuzz/corpus/$name has no inputs"
		return 1
	fi
	mkdir -p "$found/$name"
	set -- -artifact_prefix="$found/$name-" -timeout=10 -rss_limit_mb=1024
	if [ -n "${FUZZ_TIME:-}" ]; then
		set -- "$@" -max_total_time="$FUZZ_TIME" "$found/$name"
	else
		set -- "$@" -runs=0
	fi
	"$WICK_BUILD/fuzz/fuzz_$name" "$@" "$corpora/$name" 2>&1
}

number=0
for name in "${names[@]}"; do
	number=$((number + 1))
	if output=$(run_target "$name"); then
		echo "ok $number - $name"
	else
		echo "not ok $number - $name"
		tail -n 60 <<<"$output" | sed 's/^/# /'
	fi
done
