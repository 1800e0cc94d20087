/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 of what is in memory. In: bytes. Out: 32 bytes. Blocks of 64 bytes are mixed into the state one after the
 * other; what is left is padded with a one bit, zeros and the length.
 */
#include "base/sha256.h"

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define BLOCK 64
#define ROUNDS 64

/* The first bits behind the point of the cube roots of the first primes. */
static const uint32_t constants[ROUNDS] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn(uint32_t word, unsigned int by)
{
	return word >> by | word << (32 - by);
}

static void mix(uint32_t state[8], const unsigned char *block)
{
	uint32_t w[ROUNDS], s[8];

	memcpy(w, block, BLOCK);
	memcpy(s, state, sizeof(s));
	for (int i = 0; i < 16; i++)
		w[i] = be32toh(w[i]);
	for (int i = 16; i < ROUNDS; i++)
		w[i] = w[i - 16] + w[i - 7] + (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) +
		       (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10);
	for (int i = 0; i < ROUNDS; i++) {
		uint32_t chosen = (s[4] & s[5]) ^ (~s[4] & s[6]);
		uint32_t most = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
		uint32_t one = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) + chosen + constants[i] + w[i];
		uint32_t two = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) + most;

		memmove(s + 1, s, 7 * sizeof(*s));
		s[4] += one;
		s[0] = one + two;
	}
	for (int i = 0; i < 8; i++)
		state[i] += s[i];
}

void sha256(const void *data, size_t len, unsigned char ret[SHA256_LEN])
{
	uint32_t state[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
			      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
	size_t whole = len / BLOCK * BLOCK, rest = len - whole;
	size_t padded = rest < BLOCK - sizeof(uint64_t) ? BLOCK : 2 * BLOCK;
	unsigned char last[2 * BLOCK] = { 0 };
	uint64_t bits = htobe64((uint64_t)len * 8);

	for (size_t at = 0; at < whole; at += BLOCK)
		mix(state, (const unsigned char *)data + at);
	if (rest)
		memcpy(last, (const unsigned char *)data + whole, rest);
	last[rest] = 0x80;
	memcpy(last + padded - sizeof(bits), &bits, sizeof(bits));
	for (size_t at = 0; at < padded; at += BLOCK)
		mix(state, last + at);
	for (int i = 0; i < 8; i++)
		state[i] = htobe32(state[i]);
	memcpy(ret, state, SHA256_LEN);
}
