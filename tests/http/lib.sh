# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What tests of the server share: starting tests/tools/httpserve, asking it, and speaking to it byte by byte.

# shellcheck source=tests/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

HTTPSERVE=${WICK_TOOLS:-$tests_dir/../build/tests/tools}/httpserve
export BUSY=$tests_dir/golden/busy.wick
export server='' port='' url=''

# serve NAME=VALUE... FILE...: until it listens; sets server, port and url
serve() {
	: >"$T/port"
	"$HTTPSERVE" "$@" >"$T/port" 2>"$T/server.err" &
	server=$!
	children+=("$server")
	if ! wait_for 20 grep -q . "$T/port"; then
		diag "the server did not start: $(cat "$T/server.err")"
		exit 1
	fi
	port=$(cat "$T/port")
	url=http://127.0.0.1:$port
}

# code CURL-ARGUMENT...: the status, its answer in $T/body and $T/head
code() {
	curl -sS -m 30 -o "$T/body" -D "$T/head" -w '%{http_code}' "$@" 2>"$T/curl.err"
}

# answers NAME STATUS CURL-ARGUMENT...
answers() {
	local name=$1 wanted=$2
	shift 2
	is "$name" "$(code "$@")" "$wanted"
}

# refuses NAME STATUS CURL-ARGUMENT...: with a sentence, in JSON, that tells nothing of this machine
refuses() {
	answers "$@"
	ok "$1: a sentence" is_sentence
}

is_sentence() {
	jq -e '(.error | length > 10) and (.error | test("/(tmp|usr|home|etc|root|var)") | not)' "$T/body" >"$T/jq.out"
}

# header NAME: of the last answer
header() {
	sed -n "s/^$1: *\(.*\)\r$/\1/Ip" "$T/head"
}

# speak SECONDS PERL: the program has a connection to $port in $s; what it prints is printed. Ends after so long.
speak() {
	perl -MIO::Socket::INET -MSocket -e '
		$| = 1;
		$SIG{PIPE} = "IGNORE";
		$SIG{ALRM} = sub { print "too long\n"; exit };
		alarm shift;
		sub dial { IO::Socket::INET->new(PeerAddr => "127.0.0.1:$ARGV[0]") or die "connect: $!" }
		sub status { my ($s) = @_; my $line = <$s> // "closed"; $line =~ s{^HTTP/1\.\d (\d+).*}{$1}s; $line }
		my $s = dial();
		eval $ARGV[1];
		die $@ if $@;' -- "$1" "$port" "$2"
}

still_serving() {
	is "$1: still serving" "$(code "$url/healthz")" 200
}
