// SPDX-License-Identifier: Apache-2.0
// Go, which calls C that runs without end; with an argument, Go that does.
package main

// #cgo CFLAGS: -O2 -fomit-frame-pointer -Wno-unused-function
// #include "../zoo.h"
//
// ZOO_LAST(inner, zoo_spin)
// ZOO_LEVEL(middle, inner)
//
// static unsigned long outer(unsigned long n) { return middle(n, 2, 3, 4, 5, 6) + n; }
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
)

var turns uint64 = 1 << 62

//go:noinline
func spin(x uint64) uint64 {
	for i := uint64(0); i < turns; i++ {
		x = x*6364136223846793005 + 1
	}
	return x
}

//go:noinline
func work(n int, list []uint64) uint64 {
	if n > 0 {
		return work(n-1, list) + list[n]
	}
	if len(os.Args) > 1 {
		fmt.Printf("ready %d %d\n", os.Getpid(), syscall.Gettid())
		return spin(list[0]) + list[1]
	}
	return uint64(C.outer(C.ulong(list[0]))) + list[1]
}

func main() {
	runtime.LockOSThread()
	fmt.Println(work(3, []uint64{1, 2, 3, 4}))
}
