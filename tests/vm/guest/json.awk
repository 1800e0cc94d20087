# SPDX-License-Identifier: Apache-2.0
#
# JSON, flat: one line "path.to.member value" for each number, string and word; members of arrays by their place.

function fail(why) {
	print "json.awk: " why > "/dev/stderr"
	failed = 1
	exit 1
}

{ text = text $0 "\n" }

END {
	if (failed)
		exit 1
	depth = 0
	while (match(text, /^[ \t\n]*("([^"\\]|\\.)*"|[-+.0-9eE]+|true|false|null|[][{}:,])/)) {
		token = substr(text, 1, RLENGTH)
		text = substr(text, RLENGTH + 1)
		sub(/^[ \t\n]*/, "", token)
		if (token == "{" || token == "[") {
			array[++depth] = token == "["
			key[depth] = array[depth] ? 0 : ""
		} else if (token == "}" || token == "]") {
			if (--depth < 0)
				fail("one bracket too many")
		} else if (token == ",") {
			if (array[depth])
				key[depth]++
			else
				key[depth] = ""
		} else if (token == ":") {
			continue
		} else if (!array[depth] && key[depth] == "") {
			key[depth] = substr(token, 2, length(token) - 2)
		} else {
			path = key[1]
			for (i = 2; i <= depth; i++)
				path = path "." key[i]
			print path, token
		}
	}
	if (depth || text !~ /^[ \t\n]*$/)
		fail("not JSON: " substr(text, 1, 40))
}
