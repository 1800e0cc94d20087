# SPDX-License-Identifier: Apache-2.0
#
# names.awk -v module=NAME SYMBOLS FOLDED: frames NAME+0xOFFSET become the function that lies there. SYMBOLS was written
# by run.

BEGIN { functions = 0 }

function name(frame,    offset, i) {
	if (!(frame in known)) {
		offset = substr(frame, length(module) + 4)
		while (length(offset) < 16)
			offset = "0" offset
		known[frame] = frame
		for (i = 0; i < functions; i++)
			if (offset >= first[i] && offset < last[i])
				known[frame] = function_name[i]
	}
	return known[frame]
}

NR == FNR {
	first[functions] = $1
	last[functions] = $2
	function_name[functions++] = $3
	next
}

{
	count = $NF
	sub(/ [0-9]+$/, "")
	n = split($0, frame, ";")
	line = frame[1]
	for (i = 2; i <= n; i++)
		line = line ";" (index(frame[i], module "+0x") == 1 ? name(frame[i]) : frame[i])
	print line, count
}
