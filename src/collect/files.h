/* SPDX-License-Identifier: Apache-2.0 */
/* The files that frames lie in: opened where they are mapped, and known to be the right ones. */
#ifndef WICK_COLLECT_FILES_H
#define WICK_COLLECT_FILES_H

#include <stdint.h>

struct profile;
struct sampler;
struct wire_file;

/* Opens the file that was found, or -errno: `file_gone` when no way leads to it any more. Never follows a target. */
int files_open(struct sampler *sampler, const struct wire_file *found, const char *path);

/* Fills in the build id of the profile's file, or the reason why it has none. */
void files_identify(struct sampler *sampler, struct profile *profile, uint32_t file, const struct wire_file *found);

#endif
