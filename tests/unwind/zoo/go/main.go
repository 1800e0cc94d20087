// SPDX-License-Identifier: Apache-2.0
// Go, which calls C that runs without end; with an argument, Go that does; with the argument "collect", Go that keeps its
// collector busy, and calls C that comes back.
package main

// #cgo CFLAGS: -O2 -fomit-frame-pointer -Wno-unused-function
// #include "../zoo.h"
//
// ZOO_LAST(inner, zoo_spin)
// ZOO_LEVEL(middle, inner)
//
// static unsigned long moment(unsigned long x)
// {
//	for (int i = 0; i < 200000; i++) {
//		x = x * 6364136223846793005UL + 1;
//		__asm__ volatile("" : "+r"(x));
//	}
//	return x;
// }
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

type tree struct {
	left, right *tree
	room        [4]int
}

//go:noinline
func grow(depth int) *tree {
	if depth == 0 {
		return &tree{}
	}
	return &tree{left: grow(depth - 1), right: grow(depth - 1)}
}

func collect() {
	var kept [8]*tree

	fmt.Printf("ready %d %d\n", os.Getpid(), syscall.Gettid())
	go func() {
		for {
			C.moment(1)
		}
	}()
	for i := 0; ; i++ {
		kept[i%len(kept)] = grow(14)
	}
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "collect" {
		collect()
	}
	runtime.LockOSThread()
	fmt.Println(work(3, []uint64{1, 2, 3, 4}))
}
