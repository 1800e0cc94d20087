#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Root writes outputs to folders in which another user does what he can: he swaps links, files and folders while wick
# runs again and again. Whatever he does, nothing is made where he cannot write, nothing that is there changes, and
# nothing becomes his.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

unset SUDO_UID SUDO_GID
attacker=65534
input=$tests_dir/golden/busy.wick
MKSTORE=${WICK_TOOLS:-$tests_dir/../build/tests/tools}/mkstore
chmod 711 "$T"
umask 022

# What he wants to change: root's, and not his to write.
mkdir "$T/safe"
echo precious >"$T/safe/old"
chmod 600 "$T/safe/old"

as_attacker=(setpriv --reuid "$attacker" --regid "$attacker" --clear-groups --inh-caps=-all --ambient-caps=-all --bounding-set=-all --)

# scene NAME MODE: the folder $T/NAME, in $folder
scene() {
	folder=$T/$1
	mkdir "$folder"
	chmod "$2" "$folder"
}

# All that is wrong: what is in the safe place, and what of the attacker's has bytes in it. His own files are empty.
damage() {
	find "$T/safe" -mindepth 1 -printf '%P %y %U %m %s\n' | grep -vx 'old f 0 600 9'
	grep -qx precious "$T/safe/old" || echo 'old: changed'
	find "$T"/s-* -uid $attacker -type f -size +0 -printf '%P belongs to the attacker\n'
}

# toggle PATH WORD...: as the attacker, for ever: the name is in turn what the words say: a link to what follows link=, a
# folder, a file, nothing. Each takes the place of the one before in one step.
toggle() {
	start "$T/toggle" "${as_attacker[@]}" perl -e '
		my ($path, @words) = @ARGV;
		my $n = 0;
		$| = 1;
		for (;;) {
			for my $word (@words) {
				my $new = "$path.next";
				unlink $path if -l $path || -f _;
				rmdir $path;
				rename $path, "$path.away" . $n++ if -d $path && !-l $path && $n < 50;
				if ($word =~ /^link=(.*)/) { symlink $1, $new; rename $new, $path }
				elsif ($word eq "file") { open my $f, ">", $path; chmod 0666, $path }
				elsif ($word eq "folder") { mkdir $path; chmod 0777, $path }
				print "ready\n" if $n++ == 100;
				select undef, undef, undef, 0.0003 if $n % 7 == 0;
			}
		}' "$@"
	toggler=$started
	wait_for 20 grep -q ready "$T/toggle"
}

# siege NAME LEAST OUTPUT...: wick writes to OUTPUT, at least LEAST times, and until it has been both refused and
# obeyed; or, with `always` before LEAST, has never been obeyed
siege() {
	local name=$1 always=0 least obeyed=0 refused=0 odd=0 given=0 i file
	if [ "$2" = always ]; then always=1 && shift; fi
	least=$2
	shift 2
	for ((i = 0; i < least || (i < 20 * least && !always && (obeyed == 0 || refused == 0)); i++)); do
		"$WICK" convert "$input" "$@" >/dev/null 2>"$T/stderr"
		case $? in
		0) obeyed=$((obeyed + 1)) ;;
		1) refused=$((refused + 1)) ;;
		*) odd=$((odd + 1)) ;;
		esac
		[ ! -s "$T/stderr" ] || { [ "$(wc -l <"$T/stderr")" = 1 ] && grep -q '^wick: writing ' "$T/stderr"; } || {
			odd=$((odd + 1))
			diag "$(head -3 "$T/stderr")"
		}
		file=$(stat -c '%F %u' "$folder"/x.[fj]* 2>/dev/null) # in one look
		[ "$file" != "regular file $attacker" ] || given=$((given + 1))
		rm -f "$folder/x.folded" "$folder/x.json"
		[ -z "$(find "$T/safe" -mindepth 2 -o -name '[!o]*' ! -path "$T/safe")" ] || break
	done
	is "$name: each run is obeyed, or refused in one line" "$odd" 0
	if [ "$always" = 1 ]; then
		is "$name: every run is refused" "$obeyed" 0
	else
		holds "$name: the attacker was in time, and was not" "$refused > 0 && $obeyed > 0"
	fi
	is "$name: nothing was made or changed for him" "$(damage)" ''
	is "$name: nothing was given to him" "$given" 0
	stop "$toggler"
	rm -rf "$T/safe"
	mkdir "$T/safe"
	echo precious >"$T/safe/old"
	chmod 600 "$T/safe/old"
	rm -rf "$T"/s-*
}

# ---- A folder for everyone, as /tmp: his names there lead nowhere ----

scene s-link 1777
toggle "$folder/x.folded" nothing "link=$T/safe/new"
siege 'a link to where nothing is' 300 -o "$folder/x.folded"

scene s-old 1777
toggle "$folder/x.folded" nothing file "link=$T/safe/old"
siege 'a link to a file of root' 300 -o "$folder/x.folded"

scene s-stats 1777
toggle "$folder/x.json" nothing "link=$T/safe/new"
siege 'a link, and --stats' 200 -f folded -o /dev/null --stats "$folder/x.json"

scene s-file 1777
toggle "$folder/x.folded" nothing file
siege 'a file of his' 200 -o "$folder/x.folded"

scene s-way 1777
mkdir "$folder/real" && ln -s real "$folder/roots"
toggle "$folder/way" folder "link=$T/safe" "link=roots"
siege 'a folder on the way' always 200 -o "$folder/way/new.folded"

# ---- Folders in which he can rename what is not his ----

scene s-open 0777
toggle "$folder/x.folded" nothing file "link=$T/safe/new"
siege 'a folder without the sticky bit' always 100 -o "$folder/x.folded"

scene s-group 0775
chgrp $attacker "$folder"
toggle "$folder/x.folded" nothing "link=$T/safe/new"
siege 'a folder of his group' always 100 -o "$folder/x.folded"

scene s-his 0755
chown $attacker "$folder"
toggle "$folder/way" folder "link=$T/safe"
siege 'a folder of his' always 100 -o "$folder/way/new.folded"

# ---- One line says what is wrong, and nothing is touched ----

# refuses NAME WORDS COMMAND...: WORDS: a regular expression
refuses() {
	local name=$1 words=$2 before
	shift 2
	before=$(find "$T/s-one" -printf '%P %y %U %m %s\n' | sort)
	run "$@"
	is "$name: exit" "$status" 1
	is "$name: one line" "$(wc -l <"$T/stderr")" 1
	ok "$name: to the point" grep -qE -- "$words" "$T/stderr" || diag "$(cat "$T/stderr")"
	is "$name: nothing is touched" "$(find "$T/s-one" -printf '%P %y %U %m %s\n' | sort)$(damage)" "$before"
}

scene s-one 1777
"${as_attacker[@]}" ln -s "$T/safe/new" "$folder/link.folded"
"${as_attacker[@]}" touch "$folder/file.folded"
"${as_attacker[@]}" chmod 666 "$folder/file.folded"
"${as_attacker[@]}" mkfifo "$folder/fifo.folded"
"${as_attacker[@]}" mkdir -m 777 "$folder/dir"
"${as_attacker[@]}" mkdir -m 700 "$folder/store"
"${as_attacker[@]}" ln -s "$T/safe" "$folder/safe"
mkdir -m 777 "$folder/open"
mkdir -m 755 "$folder/ours"
for how in "convert $input" "report $input" "diff $input $input" "merge $input"; do
	# shellcheck disable=SC2086 # words
	refuses "${how%% *}: a link" "link\.folded.* 65534 .*remove it" "$WICK" $how -o "$folder/link.folded"
done
refuses 'a file' 'belongs to user 65534: remove it' "$WICK" convert "$input" -o "$folder/file.folded"
refuses 'a pipe' 'belongs to user 65534: remove it' "$WICK" convert "$input" -o "$folder/fifo.folded"
refuses 'his folder' "can change the folder '$folder/dir'" "$WICK" convert "$input" -o "$folder/dir/x.folded"
refuses 'an open folder' "can change the folder '$folder/open'" "$WICK" convert "$input" -o "$folder/open/x.folded"
refuses 'record' 'belongs to user 65534' "$WICK" record -o "$folder/file.folded" 50
refuses 'record --stats' "link\.folded" "$WICK" record -f folded -o /dev/null --stats "$folder/link.folded" 50
refuses 'serve: his store' "can change the folder '$folder/store'" \
	timeout 20 "$WICK" serve --listen 127.0.0.1:0 --data "$folder/store" --socket "$T/sock"
refuses 'serve: a store where he leads it' " 65534 made the link 'safe'" \
	timeout 20 "$WICK" serve --listen 127.0.0.1:0 --data "$folder/safe/new" --socket "$T/sock"
refuses 'serve: a socket where he leads it' " 65534 made the link 'safe'" \
	timeout 20 "$WICK" serve --listen 127.0.0.1:0 --replay "$input" --socket "$folder/safe/new/sock"

# ---- What is asked of root alone is not asked of others ----

cp "$input" "$T/busy.wick"
cp "$WICK" "$T/wick"
chmod 755 "$T/wick" "$T/busy.wick"
run "${as_attacker[@]}" "$T/wick" convert "$T/busy.wick" -o "$folder/dir/x.folded" -o "$folder/his.folded" -o "$folder/open/x.folded"
is 'another user writes to his folder, to one for everyone and to an open one' "$status$(cat "$T/stderr")" 0
rm -rf "$T"/s-one

# ---- What root is used to ----

scene s-ours 1777
mkdir -m 700 "$folder/private"
echo old >"$folder/private/old.folded"
chmod 640 "$folder/private/old.folded"
chgrp 7 "$folder/private/old.folded"
ln -s private/old.folded "$folder/link.folded"
mkfifo "$folder/fifo"
start "$T/through" cat "$folder/fifo"
for output in "$folder/new.folded" "$folder/private/new.folded" "$folder/link.folded" "$folder/fifo" /dev/stdout /dev/fd/1 /dev/null; do
	run "$WICK" convert -f folded "$input" -o "$output"
	is "root writes to ${output#"$T/"}" "$status$(cat "$T/stderr")" 0
done
(cd "$folder/private" && "$WICK" convert "$input" -o here.folded)
wait_for 20 gone "$started"
for output in "$folder/new.folded" "$folder/private/new.folded" "$folder/private/old.folded" "$folder/private/here.folded" "$T/through"; do
	is "it is whole: ${output#"$T/"}" "$(cksum <"$output")" "$("$WICK" convert -f folded "$input" -o - | cksum)"
done
is 'a file that is replaced keeps its mode and its group' "$(stat -c '%u:%g %a' "$folder/private/old.folded")" '0:7 640'

# ---- sudo, from one's own folder: what is made is one's own, and is at no time root's to give ----

mkdir -m 755 "$folder/home"
chown $attacker:$attacker "$folder/home"
as_sudo=(env "SUDO_UID=$attacker" "SUDO_GID=$attacker")
ok 'sudo: a new file' "${as_sudo[@]}" "$WICK" convert "$input" -o "$folder/home/x.folded"
is 'sudo: it is his' "$(stat -c '%u:%g %a' "$folder/home/x.folded")" "$attacker:$attacker 644"
"${as_attacker[@]}" chmod 600 "$folder/home/x.folded"
ok 'sudo: again' "${as_sudo[@]}" "$WICK" convert "$input" -o "$folder/home/x.folded"
is 'sudo: it is as it was' "$(stat -c '%u:%g %a' "$folder/home/x.folded")" "$attacker:$attacker 600"
"${as_attacker[@]}" touch "$folder/his.folded"
ok 'sudo: his file in a folder for everyone' "${as_sudo[@]}" "$WICK" convert "$input" -o "$folder/his.folded"
is 'sudo: it is his still' "$(stat -c %u "$folder/his.folded")" $attacker
ok 'sudo: a new one in a folder for everyone' "${as_sudo[@]}" "$WICK" convert "$input" -o "$folder/roots.folded"
is "sudo: it is root's" "$(stat -c %u "$folder/roots.folded")" 0

# ---- Reading a store: SQLite makes files beside it, and gives them to its owner ----

echo 'app;main 5' >"$T/a.folded"
ok 'a store' "$MKSTORE" "$folder/kept" 2026-03-01T10:00:00 10 9 "$T/a.folded"
chown -R $attacker:$attacker "$folder/kept"
ask=("$WICK" sql --data "$folder/kept" -f csv 'SELECT sum(samples) FROM samples')
run "${ask[@]}"
is "root reads another user's store" "$(paste -sd' ' "$T/stdout")$(cat "$T/stderr")" 'sum(samples) 45'
# Its owner's, in a folder that he cannot enter, as systemd has it.
mkdir -m 700 "$folder/locked" && mv "$folder/kept" "$folder/locked/kept"
run "$WICK" sql --data "$folder/locked/kept" -f csv 'SELECT sum(samples) FROM samples'
is 'and one that its owner cannot reach by himself' "$(paste -sd' ' "$T/stdout")$(cat "$T/stderr")" 'sum(samples) 45'
# He gives it another place: what he cannot write there, root does not write for him.
mkdir -m 755 "$folder/his" && mv "$folder/locked/kept" "$folder/his/kept"
rm -f "$folder"/his/kept/*-*
chown root:root "$folder/his/kept"
chmod 755 "$folder/his/kept"
chown $attacker "$folder/his"
before=$(ls -A "$folder/his/kept")
run "$WICK" sql --data "$folder/his/kept" 'SELECT sum(samples) FROM samples'
is 'root leaves nothing where the owner of the way could not' "$(ls -A "$folder/his/kept")" "$before"

finish
