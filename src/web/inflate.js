// SPDX-License-Identifier: Apache-2.0
// gzip unpacked in plain script, for browsers without DecompressionStream. In: bytes. Out: bytes, or an error that says
// what is wrong. Codes are read bit by bit along the canonical order: slow beside the browser's own, but small.

const LENGTH_BASE = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
const LENGTH_EXTRA = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const DISTANCE_BASE = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073,
	4097, 6145, 8193, 12289, 16385, 24577];
const CODE_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

function crc32(bytes) {
	const table = new Uint32Array(256);
	let crc = -1;
	for (let i = 0; i < 256; i++) {
		let value = i;
		for (let bit = 0; bit < 8; bit++)
			value = value & 1 ? value >>> 1 ^ 0xedb88320 : value >>> 1;
		table[i] = value;
	}
	for (let i = 0; i < bytes.length; i++)
		crc = crc >>> 8 ^ table[(crc ^ bytes[i]) & 255];
	return ~crc >>> 0;
}

// How many codes there are of each length, and the symbols in their order.
function huffman(lengths) {
	const counts = new Uint16Array(16), starts = new Uint16Array(16), symbols = new Uint16Array(lengths.length);
	for (const length of lengths)
		counts[length]++;
	counts[0] = 0;
	for (let i = 1; i < 16; i++)
		starts[i] = starts[i - 1] + counts[i - 1];
	lengths.forEach((length, symbol) => length && (symbols[starts[length]++] = symbol));
	return { counts, symbols };
}

class BitReader {
	constructor(bytes, at, end) {
		Object.assign(this, { bytes, at, end, hold: 0, held: 0 });
	}
	bits(count) {
		while (this.held < count) {
			if (this.at >= this.end)
				throw new Error("it ends too early");
			this.hold |= this.bytes[this.at++] << this.held;
			this.held += 8;
		}
		const value = this.hold & (1 << count) - 1;
		this.hold >>>= count;
		this.held -= count;
		return value;
	}
	symbol(code) {
		for (let length = 1, value = 0, first = 0, index = 0; length < 16; length++) {
			const count = code.counts[length];
			value |= this.bits(1);
			if (value - count < first)
				return code.symbols[index + value - first];
			index += count;
			first = first + count << 1;
			value <<= 1;
		}
		throw new Error("a code that is none");
	}
}

function readCodes(reader) {
	const literals = reader.bits(5) + 257, distances = reader.bits(5) + 1, count = reader.bits(4) + 4;
	const lengths = new Array(19).fill(0), all = [];
	for (let i = 0; i < count; i++)
		lengths[CODE_ORDER[i]] = reader.bits(3);
	const code = huffman(lengths);
	while (all.length < literals + distances) {
		const symbol = reader.symbol(code);
		const repeat = symbol < 16 ? 1 : symbol === 16 ? 3 + reader.bits(2) : symbol === 17 ? 3 + reader.bits(3) : 11 + reader.bits(7);
		const length = symbol < 16 ? symbol : symbol === 16 ? all[all.length - 1] || 0 : 0;
		for (let i = 0; i < repeat; i++)
			all.push(length);
	}
	return [huffman(all.slice(0, literals)), huffman(all.slice(literals, literals + distances))];
}

function fixedCodes() {
	const lengths = Array.from({ length: 288 }, (_, i) => i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8);
	return [huffman(lengths), huffman(new Array(30).fill(5))];
}

// One block of codes into `out` from `to` on; where it ended.
function readBlock(reader, [literals, distances], out, to) {
	for (;;) {
		const symbol = reader.symbol(literals);
		if (symbol === 256)
			return to;
		if (symbol < 256) {
			out[to++] = symbol;
			continue;
		}
		const length = LENGTH_BASE[symbol - 257] + reader.bits(LENGTH_EXTRA[symbol - 257]);
		const which = reader.symbol(distances);
		const back = DISTANCE_BASE[which] + reader.bits(Math.max(0, (which >> 1) - 1));
		if (!(back <= to) || !(to + length <= out.length))
			throw new Error("a copy from nowhere");
		for (let i = 0; i < length; i++, to++)
			out[to] = out[to - back];
	}
}

export function inflate(bytes) {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
	if (bytes.length < 18 || bytes[0] !== 31 || bytes[1] !== 139 || bytes[3])
		throw new Error("it does not begin as it should");
	const size = view.getUint32(bytes.length - 4, true), out = new Uint8Array(size);
	const reader = new BitReader(bytes, 10, bytes.length - 8);
	let to = 0, last;
	do {
		last = reader.bits(1);
		const type = reader.bits(2);
		if (type === 0) {
			reader.hold = reader.held = 0;
			const length = reader.bits(8) | reader.bits(8) << 8;
			reader.at += 2;
			if (reader.at + length > reader.end || to + length > size)
				throw new Error("it ends too early");
			out.set(bytes.subarray(reader.at, reader.at += length), to);
			to += length;
		} else if (type < 3) {
			to = readBlock(reader, type === 1 ? fixedCodes() : readCodes(reader), out, to);
		} else {
			throw new Error("a block of no kind");
		}
	} while (!last);
	if (to !== size || crc32(out) !== view.getUint32(bytes.length - 8, true))
		throw new Error("its checksum is wrong");
	return out;
}
