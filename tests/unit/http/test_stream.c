/* SPDX-License-Identifier: Apache-2.0 */
/* Events: what clients read, in which order, and that a slow one is dropped without anybody waiting. */
#include "http/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <string.h>

#define QUEUE 4

static unsigned woken;

static void wake(void *context)
{
	(void)context;
	woken++;
}

static struct stream *make(unsigned clients, size_t bytes)
{
	struct stream *stream = NULL;

	assert_int_equal(stream_new(&stream, &(struct stream_options){ clients, QUEUE, bytes, wake, NULL }), 0);
	return stream;
}

static struct stream_client *join(struct stream *stream)
{
	struct stream_client *client = NULL;

	assert_int_equal(stream_join(stream, &client), 0);
	return client;
}

static void reads(struct stream_client *client, const char *expected)
{
	char out[1000];
	ssize_t len = stream_read(client, out, sizeof(out) - 1);

	assert_true(len >= 0);
	out[len] = '\0';
	assert_string_equal(out, expected);
}

static void say(struct stream *stream, const char *text)
{
	assert_int_equal(stream_publish(stream, "add", text, strlen(text)), 0);
}

static void test_everybody_hears_what_is_said_since(void **state)
{
	struct stream *stream = make(2, 1000);
	struct stream_client *a = join(stream), *b;

	(void)state;
	woken = 0;
	say(stream, "one");
	b = join(stream);
	assert_false(stream_ready(b));
	say(stream, "two");
	assert_int_equal(woken, 2);
	assert_true(stream_ready(b));
	reads(a, "id: 1\nevent: add\ndata: one\n\nid: 2\nevent: add\ndata: two\n\n");
	reads(a, "");
	reads(b, "id: 2\nevent: add\ndata: two\n\n");
	stream_leave(a);
	stream_leave(b);
	stream_leave(NULL);
	stream_free(stream);
}

static void test_greeting_comes_first(void **state)
{
	struct stream *stream = make(2, 1000);
	struct stream_client *client;

	(void)state;
	say(stream, "before");
	client = join(stream);
	say(stream, "since");
	assert_int_equal(stream_greet(client, "all", "a\nb\rc", 5), 0);
	reads(client, "id: 1\nevent: all\ndata: a\ndata: b c\n\nid: 2\nevent: add\ndata: since\n\n");
	stream_leave(client);
	stream_free(stream);
}

static void test_parts(void **state)
{
	struct stream *stream = make(1, 1000);
	struct stream_client *client = join(stream);
	char out[100], part[3];
	size_t len = 0;
	ssize_t got;

	(void)state;
	say(stream, "one");
	assert_int_equal(stream_publish(stream, NULL, "", 0), 0);
	while ((got = stream_read(client, part, sizeof(part))) > 0) {
		memcpy(out + len, part, (size_t)got);
		len += (size_t)got;
	}
	assert_int_equal(got, 0);
	out[len] = '\0';
	assert_string_equal(out, "id: 1\nevent: add\ndata: one\n\n: \n\n");
	stream_leave(client);
	stream_free(stream);
}

static void test_slow_ones_are_dropped(void **state)
{
	struct stream *stream = make(3, 1000);
	struct stream_client *slow = join(stream), *quick = join(stream);
	char out[100];

	(void)state;
	for (int i = 0; i <= QUEUE; i++) {
		say(stream, "x");
		assert_true(stream_read(quick, out, sizeof(out)) > 0);
	}
	assert_true(stream_dropped(slow));
	assert_true(stream_ready(slow));
	assert_int_equal(stream_read(slow, out, sizeof(out)), -EPIPE);
	say(stream, "y");
	assert_int_equal(stream_read(slow, out, sizeof(out)), -EPIPE);
	assert_true(stream_read(quick, out, sizeof(out)) > 0);
	assert_int_equal(stream_stats(stream).dropped, 1);
	stream_leave(slow);
	stream_leave(quick);
	stream_free(stream);
}

static void test_bytes_are_bounded_too(void **state)
{
	struct stream *stream = make(1, 40);
	struct stream_client *client = join(stream);

	(void)state;
	say(stream, "one");
	assert_false(stream_dropped(client));
	say(stream, "two");
	assert_true(stream_dropped(client));
	stream_leave(client);
	stream_free(stream);
}

static void test_so_many_and_no_more(void **state)
{
	struct stream *stream = make(2, 1000);
	struct stream_client *a = join(stream), *b = join(stream), *c = NULL;

	(void)state;
	assert_int_equal(stream_join(stream, &c), -EUSERS);
	stream_leave(a);
	c = join(stream);
	assert_int_equal(stream_stats(stream).clients, 2);
	stream_leave(c);
	stream_leave(b);
	stream_free(stream);
}

static void test_the_end(void **state)
{
	struct stream *stream = make(1, 1000);
	struct stream_client *client = join(stream), *late = NULL;
	char out[10];

	(void)state;
	say(stream, "last");
	stream_end(stream);
	assert_true(stream_ready(client));
	reads(client, "id: 1\nevent: add\ndata: last\n\n");
	assert_int_equal(stream_read(client, out, sizeof(out)), -EPIPE);
	assert_int_equal(stream_join(stream, &late), -EUSERS);
	stream_leave(client);
	stream_free(stream);
}

static void *publish_many(void *context)
{
	for (int i = 0; i < 2000; i++)
		stream_publish(context, "add", "x", 1);
	return NULL;
}

static void test_clients_come_and_go_meanwhile(void **state)
{
	struct stream *stream = make(50, 1000);
	pthread_t thread;
	char out[64];

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, publish_many, stream), 0);
	for (int round = 0; round < 100; round++) {
		struct stream_client *clients[50];

		for (int i = 0; i < 50; i++)
			clients[i] = join(stream);
		for (int i = 0; i < 50; i++) {
			(void)!stream_read(clients[i], out, sizeof(out));
			stream_leave(clients[i]);
		}
	}
	pthread_join(thread, NULL);
	assert_int_equal(stream_stats(stream).published, 2000);
	assert_int_equal(stream_stats(stream).clients, 0);
	stream_free(stream);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everybody_hears_what_is_said_since),
		cmocka_unit_test(test_greeting_comes_first),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_slow_ones_are_dropped),
		cmocka_unit_test(test_bytes_are_bounded_too),
		cmocka_unit_test(test_so_many_and_no_more),
		cmocka_unit_test(test_the_end),
		cmocka_unit_test(test_clients_come_and_go_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
