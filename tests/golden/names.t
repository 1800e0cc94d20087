#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Names of native code against those who know them: readelf, nm, eu-addr2line, objdump and llvm-addr2line, on packaged
# programs and on small ones that are compiled and stripped here in every way that leaves something to go by.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

export T
symname=${WICK_TOOLS:-$tests_dir/../build/tests/tools}/symname
cd "$T" || exit 1

# address FILE NAME: of a symbol, by nm
address() {
	nm "$1" | awk -v name="$2" '$3 == name { print "0x" $1; exit }'
}

# name_of FILE ADDRESS [OPTION...]
name_of() {
	local file=$1 at=$2
	shift 2
	"$symname" --vaddr "$@" "$file" "$at" 2>&1 | cut -d ' ' -f 3-
}

plain() {
	printf '0x%x' "$1"
}

# ---- packaged programs: no wrong name ----

agrees() {
	"$tests_dir/agree" "$symname" "$1" "${2:-1500}" >agree.out 2>&1
	local result=$?
	[ "$result" -eq 0 ] || diag "$1: $(cat agree.out)"
	return "$result"
}

for file in /bin/bash /usr/bin/perl /usr/bin/gdb "$WICK" "$PROGS/short" "$PROGS/shares" \
	$(ldd /usr/bin/gdb | awk '$3 ~ "^/" && $3 ~ /libc\.so|libstdc|libpython|libcrypto|libm\.so|liblzma/ { print $3 }
		$1 ~ "^/.*ld-linux" { print $1 }'); do
	ok "names agree with eu-addr2line: ${file##*/}" agrees "$file"
done

# Every stub that objdump names: its first byte, where it jumps, and its last
stubs_agree() {
	objdump -d --no-show-raw-insn -j .plt -j .plt.sec -j .plt.got "$1" 2>/dev/null |
		awk '/^[0-9a-f]+ <.*@plt>:$/ { gsub(/[<>:]/, ""); print "0x" $1, $2 }' | sed 's/^0x0*/0x/' >plt.wanted
	awk '{ print $1 }' plt.wanted | "$symname" --raw --vaddr "$1" | awk '{ print $1, $3 }' >plt.got
	if [ ! -s plt.wanted ] || ! diff plt.wanted plt.got >plt.diff; then
		diag "$1: $(wc -l <plt.wanted) stubs: $(head -n 5 plt.diff 2>/dev/null)"
		return 1
	fi
}

for file in /bin/bash /usr/bin/perl /usr/bin/gdb; do
	ok "stubs agree with objdump: ${file##*/}" stubs_agree "$file"
done

# ---- C ----

cat >c.c <<'END'
#include <stdio.h>
static __attribute__((noinline)) int inner(int x) { __asm__ volatile(""); return x * 3; }
__attribute__((noinline)) int outer(int x) { return inner(x) + 1; }
int main(int argc, char **argv) { printf("%d\n", outer(argc)); return !argv; }
END
gcc -O1 -g -Wl,--build-id=sha1 -o c c.c
main=$(address c main)
inner=$(address c inner)
cp c stripped
strip stripped
is "a function with its symbol" "$(name_of c "$inner")" inner
is "a stripped function, by its bounds" "$(name_of stripped "$inner")" "stripped@$(plain "$inner")"
is "a stripped function, in its middle" "$(name_of stripped "$((main + 4))")" "stripped@$(plain "$main")"
is "_start of a stripped program" "$(name_of stripped "$(address c _start)")" _start
is "a stripped program says why" "$("$symname" --stats stripped 0 2>&1 | grep -o 'reason [a-z_]*')" "reason stripped"
run "$symname" stripped "$(printf '%d' "$(stat -c %s stripped)")"
is "no name beyond the file" "$(cut -d ' ' -f 2- "$T/stdout")" "- -"

gcc -static -O1 -o static c.c
is "a static program" "$(name_of static "$(address static inner)")" inner
is "the C library in a static program" "$(name_of static "$(address static printf)" | sed 's/^_IO_//')" printf
static_inner=$(address static inner)
strip static
is "a stripped static program" "$(name_of static "$static_inner")" "static@$(plain "$static_inner")"
is "_start of a stripped static program" "$("$symname" --vaddr static "$(readelf -hW static |
	awk '/Entry point/ { print $NF }')" | cut -d ' ' -f 3)" _start

# ---- symbols elsewhere ----

objcopy --only-keep-debug c c.debug
cp stripped linked
objcopy --add-gnu-debuglink=c.debug linked
is "a split debug file" "$(name_of linked "$inner" --debug c.debug)" inner
is "the link is known" "$("$symname" --stats linked 0 2>&1 | grep -o 'wanted .*')" "wanted 1 link c.debug"
objcopy --only-keep-debug "$PROGS/short" other.debug
run "$symname" --vaddr --debug other.debug linked "$inner"
is "a debug file of another program is refused" "$status" 1

gcc -O1 -g -Wl,--build-id=none -o noid c.c
objcopy --only-keep-debug noid noid.debug
noid_inner=$(address noid inner)
objcopy --strip-all --add-gnu-debuglink=noid.debug noid noid.stripped
is "a debug file by its checksum" "$(name_of noid.stripped "$noid_inner" --debug noid.debug)" inner
printf x >>noid.debug
run "$symname" --vaddr --debug noid.debug noid.stripped "$noid_inner"
is "a debug file with another checksum is refused" "$status" 1

nm -D c --format=posix --defined-only | awk '{ print $1 }' | sort >dynamic
nm c --format=posix --defined-only | awk '$2 ~ /^[Tt]$/ { print $1 }' | sort | comm -13 dynamic - >keep
objcopy -S --remove-section .gnu_debuglink --keep-symbols=keep c.debug mini 2>/dev/null
xz -k mini
cp stripped minidebug
objcopy --add-section .gnu_debugdata=mini.xz minidebug
is "MiniDebugInfo" "$(name_of minidebug "$inner")" inner
is "MiniDebugInfo leaves nothing to say" "$("$symname" --stats minidebug 0 2>&1 | grep -o 'reason [a-z_-]*')" "reason -"

# ---- C++ ----

cat >cpp.cc <<'END'
#include <functional>
#include <vector>
namespace outer {
template <class T, int N> struct Box {
	T value;
	__attribute__((noinline)) Box(T v) : value(v) { __asm__ volatile(""); }
	__attribute__((noinline)) ~Box() { __asm__ volatile(""); }
	__attribute__((noinline)) T get(const std::vector<T> &list) const { __asm__ volatile(""); return value + list[0]; }
	__attribute__((noinline)) bool operator<(const Box &other) const { __asm__ volatile(""); return value < other.value; }
};
}
template struct outer::Box<int, 3>;
int main(int argc, char **) {
	auto twice = [](int x) __attribute__((noinline)) { __asm__ volatile(""); return 2 * x; };
	outer::Box<int, 3> one(argc), two(3);
	return twice(one.get({ 1 })) + (one < two);
}
END
g++ -O1 -o cpp cpp.cc
box=outer::Box
cpp_name() {
	name_of cpp "$(address cpp "$1")" "${@:2}"
}
is "a template's function" "$(cpp_name _ZNK5outer3BoxIiLi3EE3getERKSt6vectorIiSaIiEE)" "$box<int, 3>::get"
is "with its parameters" "$(cpp_name _ZNK5outer3BoxIiLi3EE3getERKSt6vectorIiSaIiEE --full)" \
	"$box<int, 3>::get(std::vector<int, std::allocator<int> > const&) const"
is "as it is" "$(cpp_name _ZNK5outer3BoxIiLi3EEltERKS1_ --raw)" _ZNK5outer3BoxIiLi3EEltERKS1_
is "an operator" "$(cpp_name _ZNK5outer3BoxIiLi3EEltERKS1_)" "$box<int, 3>::operator<"
is "a constructor" "$(cpp_name _ZN5outer3BoxIiLi3EEC1Ei)" "$box<int, 3>::Box"
is "a destructor" "$(cpp_name _ZN5outer3BoxIiLi3EED1Ev)" "$box<int, 3>::~Box"
is "a lambda" "$(cpp_name "$(nm cpp | awk '/_ZZ4mainENK/ { print $3; exit }')")" 'main::{lambda(int)#1}::operator()'

# ---- Rust ----

cat >rs.rs <<'END'
mod shapes {
	pub trait Area { fn area(&self) -> u64; }
	pub struct Square(pub u64);
	impl Area for Square {
		#[inline(never)]
		fn area(&self) -> u64 { std::hint::black_box(self.0) * self.0 }
	}
	#[inline(never)]
	pub fn generic<T: Area>(shape: &T) -> u64 { std::hint::black_box(shape.area()) + 1 }
}
fn main() { println!("{}", shapes::generic(&shapes::Square(std::env::args().count() as u64))); }
END
for mangling in legacy v0; do
	unstable=
	[ "$mangling" = v0 ] || unstable=-Zunstable-options
	# Either mangling has been the default, and the other one behind a switch, at some time.
	rustc -C symbol-mangling-version="$mangling" -O rs.rs -o "rs.$mangling" 2>rs.err ||
		RUSTC_BOOTSTRAP=1 rustc $unstable -C symbol-mangling-version="$mangling" -O rs.rs -o "rs.$mangling" 2>rs.err ||
		diag "$(cat rs.err)"
	generic=$(address "rs.$mangling" "$(nm "rs.$mangling" | awk '/shapes.*generic/ { print $3; exit }')")
	area=$(address "rs.$mangling" "$(nm "rs.$mangling" | awk '/shapes.*4area/ && /Square/ { print $3; exit }')")
	wanted='rs::shapes::generic' && [ "$mangling" = legacy ] || wanted='rs::shapes::generic::<rs::shapes::Square>'
	is "Rust, $mangling: a function" "$(name_of "rs.$mangling" "$generic")" "$wanted"
	is "Rust, $mangling: of a trait" "$(name_of "rs.$mangling" "$area")" \
		'<rs::shapes::Square as rs::shapes::Area>::area'
	strip "rs.$mangling"
	is "Rust, $mangling, stripped" "$(name_of "rs.$mangling" "$generic")" "rs.$mangling@$(plain "$generic")"
done

# ---- inlined functions and lines ----

cat >inl.cc <<'END'
#include <cstdlib>
static inline __attribute__((always_inline)) int deepest(int x) {
	return std::abs(x) * 7 % 11;
}
namespace ns {
static inline __attribute__((always_inline)) int middle(int x) {
	return deepest(x + 1) + deepest(x + 2);
}
}
__attribute__((noinline)) int visible(int x) {
	return ns::middle(x) * 3;
}
int main(int argc, char **) { return visible(argc); }
END
# chain_of ADDRESS: as llvm-addr2line sees it, innermost first, in symname's words
chain_of() {
	llvm-addr2line -a -f -i -e inl "$1" | awk 'NR > 1 && NR % 2 == 0 { name = $1 }
		NR > 1 && NR % 2 == 1 { sub(/ \(discriminator.*/, ""); printf "%s%s (%s)", joint, name, $0; joint = " <- " }'
}

for compiler in g++ clang++ "g++ -gz=zlib"; do
	$compiler -O2 -g -o inl inl.cc
	start=$(address inl _Z7visiblei)
	size=$(nm -S inl | awk '$4 == "_Z7visiblei" { print "0x" $2 }')
	differ=0 deep=0
	for at in $(objdump -d --disassemble=_Z7visiblei inl | awk '/^ +[0-9a-f]+:/ { sub(":", "", $1); print "0x" $1 }'); do
		[ "$((at))" -lt "$((start + size))" ] || continue
		got=$(name_of inl "$at" --raw --inline --lines)
		wanted=$(chain_of "$at")
		[ "$got" = "$wanted" ] || {
			differ=$((differ + 1))
			diag "$compiler $at: got $got" && diag "wanted $wanted"
		}
		case $got in *' <- '*' <- '*) deep=$((deep + 1)) ;; esac
	done
	is "inlined functions and lines agree with llvm-addr2line ($compiler)" "$differ" 0
	holds "there were inlined functions to see ($compiler)" "$deep > 3"
	is "without being asked for, nothing of it ($compiler)" "$(name_of inl "$((start + 4))")" visible
done

finish
