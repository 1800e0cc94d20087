#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Attackers of all kinds, one to three at a time by chance, for HOSTILE_SECONDS (an hour), beside one recording after the
# other and a server that runs all the time. Each recording ends in time and well, with the victims' stacks and names as
# they are, within its memory; the server seals its windows, within its own. HOSTILE_SEED repeats a sequence.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

total=${HOSTILE_SECONDS:-3600}
total=${total:-3600}
seed=${HOSTILE_SEED:-$((SRANDOM % 32768))}
RANDOM=$seed
seconds=3
window=2
server_bytes=$((320 << 20)) # all processes of the server together
server_files=3000
declare -A tried spoiled
maps=()

prepare_lies

kinds=(stall-{open,getattr,read,flush,lookup,readlink,statfs,all,exec,lock,maps} pages spread rules files flood holes sections
	collide stacks lies kill-record kill-serve stop-serve jit raised)

# begin KIND: one attacker, in a folder of its own
begin() {
	local folder=$home/$round-$1
	mkdir -p "$folder"
	chown $nobody "$folder"
	case $1 in
	stall-*) attack "$1" nice -n 19 "$bin/fuse" "$fuse" "$folder" 60 "$bin/spin-stripped" "${1#stall-}" $$ ;;
	pages) attack "$1" "$bin/elves" "$folder" pages 40 $((0x100000 * (1 + RANDOM % 2000))) ;;
	spread) attack "$1" "$bin/elves" "$folder" spread $((50 + RANDOM % 400)) 0x400000 ;;
	rules) attack "$1" "$bin/elves" "$folder" rules 4 $((100 + RANDOM % 8000)) ;;
	files) attack "$1" "$bin/elves" "$folder" files 300 $((1 + RANDOM % 6)) ;;
	flood) attack "$1" "$bin/elves" "$folder" flood 100 ;;
	holes) attack "$1" "$bin/elves" "$folder" holes $((100 + RANDOM % 400)) ;;
	sections) attack "$1" "$bin/elves" "$folder" sections $((1 + RANDOM % 4)) ;;
	collide) attack "$1" "$bin/elves" "$folder" collide 96 "${places[@]}" ;;
	stacks) attack "$1" "$bin/stacks" ;;
	lies) lie ;;
	kill-record) attack "$1" "$bin/killer" "$wick" 20 kill ;;
	kill-serve) attack "$1" "$bin/killer" "$server" 5 kill ;;
	stop-serve) attack "$1" "$bin/killer" "$server" 5 stop ;;
	jit)
		attack "$1" "$bin/jitcode" memfd
		maps+=("/tmp/perf-$started.map")
		;;
	raised) attack "$1" "$bin/raised" ;;
	esac
}

# server_uses: bytes and descriptors of all its processes
server_uses() {
	local pid own bytes=0 files=0
	for pid in $server $(pgrep -P "$server"); do # one of them may end meanwhile
		own=$(awk '/^RssAnon/ { print $2 * 1024 }' "/proc/$pid/status" 2>/dev/null)
		bytes=$((bytes + ${own:-0}))
		files=$((files + $(find "/proc/$pid/fd" -mindepth 1 2>/dev/null | wc -l)))
	done
	echo "$bytes $files"
}

last_window() {
	rows 'SELECT coalesce(max(last_sequence), 0) FROM windows'
}

# a_round KIND...: complaints, one a line
a_round() {
	local kind bytes files windows=$(($(last_window))) since=${EPOCHREALTIME/.*/}
	victims h
	for kind; do [ "$kind" = kill-record ] || begin "$kind"; done
	bounded_start -F 999 $seconds
	for kind; do [ "$kind" != kill-record ] || begin "$kind"; done
	bounded_end
	(judge "$*" h) >"$T/round.tap" 2>"$T/round.err" # its checks are counted here as one
	grep '^not ok' "$T/round.tap" && cat "$T/round.err"
	release
	stop_victims
	rm -f "${maps[@]}"
	rm -rf "${home:?}/$round"-*
	wait_for $((naming + 10)) windows_up_to $((windows + (${EPOCHREALTIME/.*/} - since) / window - 1)) >/dev/null 2>&1 ||
		echo "serve: no window after $(last_window) (of $windows before)"
	read -r bytes files < <(server_uses)
	[ "$bytes" -le "$server_bytes" ] || echo "serve: $bytes bytes"
	[ "$files" -le "$server_files" ] || echo "serve: $files descriptors"
	most_bytes=$((bytes > most_bytes ? bytes : most_bytes))
	kill -0 "$server" 2>/dev/null || echo "serve: it has ended: $(tail -2 "$T/server.err")"
}

where_most() {
	perl -e 'while (<STDIN>) { /^\Q$ARGV[0]\E;(?:.*;)?\Q$ARGV[0]\E\+(0x[0-9a-f]+)(?:;[^;]*_\[k\])* (\d+)$/ and $n{$1} += $2 }
		print((sort { $n{$b} <=> $n{$a} } keys %n)[0] // "0x1000")' "$1" <"$T/x.folded"
}

in_peace -F 999 $seconds
victims h
bounded -F 999 --raw -p "$shares,$plain,$wide" 1
places=("$(where_most h-shares)" "$(where_most h-plain)" "$(where_most h-wide)")
stop_victims
serve -F 49 --window $window
ok 'serve: windows are sealed before' sealed_more 2
http_before=$(http_of "$server")
most_bytes=0 most_took=0 round=0 bad=0
until=$((${EPOCHREALTIME/.*/} + total))
while [ "${EPOCHREALTIME/.*/}" -lt "$until" ]; do
	round=$((round + 1))
	mapfile -t chosen < <(for kind in "${kinds[@]}"; do echo "$RANDOM $kind"; done | sort -n | cut -d' ' -f2 | head -$((1 + RANDOM % 3)))
	for kind in "${chosen[@]}"; do tried[$kind]=$((${tried[$kind]:-0} + 1)); done
	a_round "${chosen[@]}" >"$T/complaints" 2>&1
	most_took=$(perl -e "print $took > $most_took ? $took : $most_took")
	if [ -s "$T/complaints" ]; then
		bad=$((bad + 1))
		for kind in "${chosen[@]}"; do spoiled[$kind]=$((${spoiled[$kind]:-0} + 1)); done
		diag "round $round, ${chosen[*]}:" && diag "$(head -8 "$T/complaints" | cut -c1-300)"
	fi
done

for kind in "${kinds[@]}"; do
	diag "$kind: ${tried[$kind]:-0} times, in ${spoiled[$kind]:-0} bad rounds"
done
diag "seed $seed: $round recordings of $seconds s, the longest took $most_took s (in peace $peace s); the server's processes had $most_bytes bytes at most"
is "of $round recordings beside attackers, all are as without" "$bad" 0
is 'serve: who listens is the same as before' "$(http_of "$server")" "$http_before"
end "$server" TERM
is 'serve: it ends well' "$status" 0
ok 'nothing is left' wait_for 20 nothing_left || diag "$(where_it_waits)"

finish
