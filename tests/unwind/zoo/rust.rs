// SPDX-License-Identifier: Apache-2.0
// Rust: closures, a generic caller, and with an argument a drop while a panic unwinds the stack.

use std::hint::black_box;
use std::io::Write;

extern "C" {
    fn alarm(seconds: u32) -> u32;
    fn gettid() -> i32;
}

#[inline(never)]
fn spin(mut x: u64) -> u64 {
    unsafe { alarm(300) };
    println!("ready {} {}", std::process::id(), unsafe { gettid() });
    std::io::stdout().flush().unwrap();
    for _ in 0..black_box(u64::MAX) {
        x = black_box(x.wrapping_mul(6364136223846793005).wrapping_add(1));
    }
    x
}

struct Guard {
    n: u64,
}

impl Drop for Guard {
    #[inline(never)]
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.n = spin(self.n) + 1;
        }
        black_box(self.n);
    }
}

#[inline(never)]
fn guarded(n: u64, panics: bool) -> u64 {
    let guard = Guard { n };
    if panics {
        std::panic::resume_unwind(Box::new(n));
    }
    spin(n) + black_box(&guard).n
}

#[inline(never)]
fn applied<F: Fn(u64) -> u64>(call: F, list: &mut Vec<u64>) -> u64 {
    let sum: u64 = list.iter().map(|n| black_box(call(*n))).sum();
    list.push(sum);
    sum + list.len() as u64
}

fn main() {
    let panics = std::env::args().len() > 1;
    let mut list = vec![1, 2, 3];
    let sum = applied(|n| guarded(n, panics).wrapping_mul(n), &mut list);
    println!("{}", sum + black_box(list.len() as u64));
}
