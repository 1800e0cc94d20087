/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Function bounds from any bytes that could be a file. A range must cover the address that was asked
 * about; the image keeps its promises about what is inside of it.
 */
#include "elf/ehframe.h"

#include <stdlib.h>

#include "elf/image.h"

#define QUESTIONS 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_image(const struct image *image)
{
	uint64_t address, offset;

	for (uint32_t i = 0; i < image_sections(image); i++) {
		struct image_section section;

		require(image_section(image, i, &section) && section.name);
	}
	for (uint64_t at = 0; at < image_size(image); at += 1 + image_size(image) / QUESTIONS)
		if (image_offset_to_address(image, at, &address))
			require(image_address_to_offset(image, address, &offset));
}

static void check_frames(const struct image *image, const struct ehframe *frames)
{
	uint64_t start, end;

	if (!image_code_range(image, &start, &end))
		return;
	for (uint64_t i = 0; i < QUESTIONS; i++) {
		uint64_t address = start + (end - start) / QUESTIONS * i;
		struct ehframe_range range;

		if (ehframe_find(frames, address, &range))
			require(range.start <= address && address < range.end);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ehframe *frames = NULL;
	struct image *image = NULL;

	if (image_from_memory(&image, data, size))
		return 0;
	check_image(image);
	if (!ehframe_open(&frames, image)) {
		check_frames(image, frames);
		require(ehframe_memory(frames) < (size_t)64 << 20);
	}
	ehframe_free(frames);
	image_free(image);
	return 0;
}
