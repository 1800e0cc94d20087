/* SPDX-License-Identifier: Apache-2.0 */
/* What the worker does with a request. */
#ifndef WICK_WORKER_SERVE_H
#define WICK_WORKER_SERVE_H

#include "worker/worker.h"

/* Its argument is a struct shelf, or NULL: nothing is kept from one request to the next. */
worker_serve serve;

#endif
