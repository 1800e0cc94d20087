/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads moments. In: text that may be hostile, and what time it is. Out: ns since 1970. Each way of writing is one
 * function that takes all of the text or none of it; what comes out is between 1970 and the end of the year 9999.
 */
#include "base/when.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/span.h"

#define WHEN_LEN_MAX 40
#define LAST_SECOND 253402300799 /* 9999-12-31T23:59:59Z */
#define DAY_NS (86400 * NS_PER_SEC)
#define LAST_MS ((uint64_t)LAST_SECOND * 1000 + 999)

/* So many digits, taken off the front. */
static bool take_digits(const char **at, unsigned count, int *ret)
{
	int value = 0;

	for (unsigned i = 0; i < count; i++) {
		if ((*at)[i] < '0' || (*at)[i] > '9')
			return false;
		value = value * 10 + ((*at)[i] - '0');
	}
	*at += count;
	*ret = value;
	return true;
}

static bool take(const char **at, char c)
{
	if (**at != c)
		return false;
	(*at)++;
	return true;
}

/* HH:MM[:SS] */
static bool take_clock(const char **at, struct tm *ret)
{
	ret->tm_sec = 0;
	if (!take_digits(at, 2, &ret->tm_hour) || !take(at, ':') || !take_digits(at, 2, &ret->tm_min))
		return false;
	if (take(at, ':') && !take_digits(at, 2, &ret->tm_sec))
		return false;
	return ret->tm_hour <= 23 && ret->tm_min <= 59 && ret->tm_sec <= 59;
}

static bool take_date(const char **at, struct tm *ret)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	int year, month, day;

	if (!take_digits(at, 4, &year) || !take(at, '-') || !take_digits(at, 2, &month) || !take(at, '-') ||
	    !take_digits(at, 2, &day))
		return false;
	if (year < 1970 || month < 1 || month > 12 || day < 1)
		return false;
	if (day > days[month - 1] + (month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)))
		return false;
	ret->tm_year = year - 1900;
	ret->tm_mon = month - 1;
	ret->tm_mday = day;
	return true;
}

/* What follows a second: a point and up to nine digits. */
static bool take_fraction(const char **at, uint64_t *ret_ns)
{
	uint64_t unit = NS_PER_SEC;

	*ret_ns = 0;
	if (!take(at, '.') && !take(at, ','))
		return true;
	for (unsigned i = 0; i < 9 && **at >= '0' && **at <= '9'; i++) {
		unit /= 10;
		*ret_ns += (uint64_t)(*(*at)++ - '0') * unit;
	}
	return unit != NS_PER_SEC;
}

/* Z, +01:00, -0330, +02. The blank is what a plus becomes in a form. */
static bool take_zone(const char **at, int *ret_seconds)
{
	int sign = **at == '-' ? -1 : 1, hours, minutes = 0;

	*ret_seconds = 0;
	if (take(at, 'Z'))
		return true;
	if (**at != '+' && **at != '-' && **at != ' ')
		return false;
	(*at)++;
	if (!take_digits(at, 2, &hours))
		return false;
	if (**at && ((void)take(at, ':'), !take_digits(at, 2, &minutes)))
		return false;
	*ret_seconds = sign * (hours * 3600 + minutes * 60);
	return hours <= 23 && minutes <= 59;
}

static bool within(time_t seconds, uint64_t ns, uint64_t *ret_ns)
{
	if (seconds < 0 || seconds > LAST_SECOND)
		return false;
	*ret_ns = (uint64_t)seconds * NS_PER_SEC + ns;
	return true;
}

static bool parse_iso(const char *at, uint64_t *ret_ns)
{
	struct tm tm = { .tm_isdst = -1 };
	uint64_t fraction = 0;
	int zone;

	if (!take_date(&at, &tm))
		return false;
	if (*at && ((!take(&at, 'T') && !take(&at, ' ')) || !take_clock(&at, &tm) || !take_fraction(&at, &fraction)))
		return false;
	if (!*at)
		return within(mktime(&tm), fraction, ret_ns);
	if (!take_zone(&at, &zone) || *at)
		return false;
	return within(timegm(&tm) - zone, fraction, ret_ns);
}

static bool parse_clock(const char *at, uint64_t now_ns, uint64_t *ret_ns)
{
	time_t now = (time_t)(now_ns / NS_PER_SEC), then = 0;
	struct tm today, tm;

	if (!localtime_r(&now, &today))
		return false;
	tm = today;
	if (!take_clock(&at, &tm) || *at)
		return false;
	for (int days = 0; days < 2; days++) { /* today, or else yesterday */
		tm.tm_year = today.tm_year;
		tm.tm_mon = today.tm_mon;
		tm.tm_mday = today.tm_mday - days;
		tm.tm_isdst = -1;
		then = mktime(&tm);
		if (then <= now)
			break;
	}
	return within(then, 0, ret_ns);
}

static bool parse_ago(const char *at, uint64_t now_ns, uint64_t *ret_ns)
{
	size_t len = strlen(at);
	uint64_t count, unit, ago;

	if (len < 3 || at[0] != '-' || !span_u64((struct span){ at + 1, len - 2 }, &count))
		return false;
	switch (at[len - 1]) {
	case 's':
		unit = NS_PER_SEC;
		break;
	case 'm':
		unit = 60 * NS_PER_SEC;
		break;
	case 'h':
		unit = 3600 * NS_PER_SEC;
		break;
	case 'd':
		unit = 86400 * NS_PER_SEC;
		break;
	default:
		return false;
	}
	if (__builtin_mul_overflow(count, unit, &ago) || ago > now_ns)
		return false;
	*ret_ns = now_ns - ago;
	return true;
}

static bool parse_ms(const char *at, uint64_t *ret_ns)
{
	uint64_t ms;

	if (!span_u64((struct span){ at, strlen(at) }, &ms) || ms > LAST_MS)
		return false;
	*ret_ns = ms * NS_PER_MS;
	return true;
}

static bool parse_any(const char *text, uint64_t now_ns, uint64_t *ret_ns)
{
	if (!strcmp(text, "now")) {
		*ret_ns = now_ns;
		return true;
	}
	return parse_ago(text, now_ns, ret_ns) || parse_ms(text, ret_ns) || parse_clock(text, now_ns, ret_ns) ||
	       parse_iso(text, ret_ns);
}

int when_parse(const char *text, uint64_t now_ns, uint64_t *ret_ns)
{
	uint64_t ns = 0;

	if (strnlen(text, WHEN_LEN_MAX + 1) > WHEN_LEN_MAX || !parse_any(text, now_ns, &ns))
		return fail_plain(-EINVAL,
				  "'%.40s' is no time: write 14:03, 14:03:20, 2026-03-01T14:03:20Z, -15m, now or "
				  "milliseconds since 1970",
				  text);
	*ret_ns = ns;
	return 0;
}

static bool is_time_of_day(const char *text)
{
	struct tm tm = { 0 };

	return take_clock(&text, &tm) && !*text;
}

int when_parse_range(const char *from, const char *to, uint64_t now_ns, uint64_t *ret_from, uint64_t *ret_to)
{
	uint64_t first = 0, end = now_ns;
	int err = from ? when_parse(from, now_ns, &first) : 0;

	err = err || !to ? err : when_parse(to, now_ns, &end);
	if (!err && to && end <= first && is_time_of_day(to)) /* 23:50 to 00:10, or to an hour that is not over yet */
		err = when_parse(to, first + DAY_NS - 1, &end);
	if (err)
		return err;
	first -= first % NS_PER_MS;
	end -= end % NS_PER_MS;
	if (end <= first)
		return fail_plain(-EINVAL, "nothing is between %s and %s: the second has to be later",
				  from ? from : "1970", to ? to : "now");
	*ret_from = first;
	*ret_to = end;
	return 0;
}

void when_add(struct buf *out, uint64_t ns)
{
	time_t seconds = (time_t)(ns / NS_PER_SEC);
	char text[32];
	struct tm tm;

	if (localtime_r(&seconds, &tm) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm))
		buf_adds(out, text);
}
