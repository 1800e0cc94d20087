/* SPDX-License-Identifier: Apache-2.0 */
/* Samples chosen as asked: patterns match what people see of a frame, its name or its module. */
#include "cmd/filters.h"

#include "cmd/input.h"
#include "cmd/kept.h"
#include "out/out.h"
#include "profile/profile.h"

int filters_check(const struct filter_options *options)
{
	struct filter *filter = NULL;
	int err = filter_new(&filter, options, &out_texts);

	filter_free(filter);
	return err;
}

int filters_apply(const struct filter_options *options, struct profile **profile)
{
	struct profile *filtered = NULL;
	struct filter *filter = NULL;
	int err;

	if (!filter_asked(options))
		return 0;
	err = filter_new(&filter, options, &out_texts);
	err = err ? err : filter_apply(filter, *profile, &filtered);
	filter_free(filter);
	if (err)
		return err;
	profile_free(*profile);
	*profile = filtered;
	return 0;
}

/* Filters what reading gave, if it gave something. */
static int finish(const struct filter_options *options, int err, struct profile *profile, struct profile **ret)
{
	err = err ? err : filters_apply(options, &profile);
	if (err)
		profile_free(profile);
	else
		*ret = profile;
	return err;
}

int filters_read(const struct filter_options *options, const struct input_options *input, const char *path,
		 struct profile **ret)
{
	struct profile *profile = NULL;
	int err = input_read(&profile, path, input);

	return finish(options, err, profile, ret);
}

int filters_kept(const struct filter_options *options, const struct kept_options *kept, const struct store_range *range,
		 struct profile **ret)
{
	struct profile *profile = NULL;
	int err = kept_read(&profile, kept, range);

	return finish(options, err, profile, ret);
}

int filters_read_both(const struct filter_options *options, const struct input_options *input, const char *path,
		      struct profile **ret, struct profile **ret_before)
{
	struct profile *profile = NULL, *before = NULL;
	int err = input_read_both(&profile, &before, path, input);

	err = err ? err : filters_apply(options, &profile);
	if (!err && before)
		err = filters_apply(options, &before);
	if (err) {
		profile_free(profile);
		profile_free(before);
		return err;
	}
	*ret = profile;
	*ret_before = before;
	return 0;
}
