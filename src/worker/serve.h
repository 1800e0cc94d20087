/* SPDX-License-Identifier: Apache-2.0 */
/* What the worker does with a request. */
#ifndef WICK_WORKER_SERVE_H
#define WICK_WORKER_SERVE_H

#include "worker/worker.h"

worker_serve serve;

#endif
