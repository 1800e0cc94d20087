/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libmicrohttpd, loaded when a server starts: linked, it would bring GnuTLS into every run of wick, whose loading takes
 * longer than most commands.
 */
#ifndef WICK_HTTP_MHD_H
#define WICK_HTTP_MHD_H

#include <microhttpd.h>

#define MHD_FUNCTIONS(FUNCTION)                 \
	FUNCTION(start_daemon)                  \
	FUNCTION(stop_daemon)                   \
	FUNCTION(run)                           \
	FUNCTION(get_timeout)                   \
	FUNCTION(get_daemon_info)               \
	FUNCTION(get_connection_info)           \
	FUNCTION(lookup_connection_value)       \
	FUNCTION(create_response_from_buffer)   \
	FUNCTION(create_response_from_callback) \
	FUNCTION(add_response_header)           \
	FUNCTION(queue_response)                \
	FUNCTION(destroy_response)              \
	FUNCTION(suspend_connection)            \
	FUNCTION(resume_connection)             \
	FUNCTION(is_feature_supported)

struct mhd {
#define MHD_MEMBER(name) __typeof__(&MHD_##name) name;
	MHD_FUNCTIONS(MHD_MEMBER)
#undef MHD_MEMBER
};

/* -ENOTSUP with fail() set. The library stays for as long as the process does. */
int mhd_load(struct mhd *ret);

#endif
