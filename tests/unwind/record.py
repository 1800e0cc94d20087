# SPDX-License-Identifier: Apache-2.0
#
# Run by gdb after stops.py: writes what the stopped thread's stack is made of into the file $out, with gdb's answer at the
# same instant. Of the mapped files only what tells how to unwind these frames: program headers, and call frame
# information in which the entries of other functions are blank.
#
#   recorded stack 1
#   register VALUE               seventeen of them, as DWARF numbers them
#   map START END OFFSET FILE    executable; FILE is the number of a file below, or - for none
#   file KIND NAME BYTES         KIND is file or vdso
#   memory START BYTES
#   frame ADDRESS                gdb's, leaf first, those of callers inside the call that was made
#   data                         and then the bytes of files and memory, in that order

import re
import struct
import zlib

import gdb

BELOW, ABOVE = 128, 512  # bytes to keep around the stack pointers of all frames
REGISTERS = "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip".split()
SHF_COMPRESSED = 0x800
HEADER, SEGMENT, SECTION = "<16sHHIQQQIHHHHHH", "<IIQQQQQQ", "<IIQQQQIIQQ"


def number(frame, name):
    return int(frame.read_register(name)) & 0xFFFFFFFFFFFFFFFF


def mappings(pid):
    found = []
    for line in open("/proc/%d/maps" % pid):
        place, flags, offset, _, inode, *path = line.split(None, 5)
        start, end = (int(part, 16) for part in place.split("-"))
        found.append((start, end, "x" in flags, int(offset, 16), path[0].strip() if path else ""))
    return found


# Sections of an ELF file: name -> (flags, address, bytes)
def sections(data):
    header = struct.unpack_from(HEADER, data)
    at, count, names = header[6], header[12], header[13]
    table = [struct.unpack_from(SECTION, data, at + i * 64) for i in range(count)]
    text = table[names] if count else None
    found = {}
    for name, kind, flags, address, offset, size, *_ in table:
        if kind != 1:
            continue
        end = data.index(b"\0", text[4] + name)
        content = data[offset:offset + size]
        if flags & SHF_COMPRESSED:
            content = zlib.decompress(content[24:])
        found[data[text[4] + name:end].decode()] = (address, content)
    return found


def encoded_pointer(kind, content, at, address):
    forms = {0x0: "<Q", 0x2: "<H", 0x3: "<I", 0x4: "<Q", 0xA: "<h", 0xB: "<i", 0xC: "<q"}
    form = forms[kind & 0x0F]
    value = struct.unpack_from(form, content, at)[0]
    return value + (address + at if kind & 0x70 == 0x10 else 0), at + struct.calcsize(form)


def encoding(cie):
    letters = cie[1:cie.index(b"\0", 1)]
    at = 2 + len(letters)
    if letters[:1] != b"z":
        return 0
    for _ in range(3 if cie[0] != 1 else 2):  # factors and register
        while cie[at] & 0x80:
            at += 1
        at += 1
    at += (cie[0] == 1) + 1  # the register, the length of what follows
    for letter in letters[1:]:
        if letter == ord("R"):
            return cie[at]
        at += 1 if letter == ord("L") else 0
        if letter == ord("P"):
            at = encoded_pointer(cie[at], cie, at + 1, 0)[1]
    return 0


# Call frame information with blanks in place of entries that no address needs: the entry it is in or, if it is in none,
# the nearest ones. A blank is one CIE that nobody uses.
def thinned(content, address, wanted, debug):
    entries, at, kept = [], 0, set()
    while at + 4 <= len(content):
        length = struct.unpack_from("<I", content, at)[0]
        if length == 0xFFFFFFFF:
            raise gdb.GdbError("64-bit entries are not known here")
        past = at + 4 + length
        if length:
            tag = struct.unpack_from("<I", content, at + 4)[0]
            cie = None if tag == (0xFFFFFFFF if debug else 0) else tag if debug else at + 4 - tag
            entries.append((at, past, cie))
        at = past
    functions = []
    for start, past, cie in entries:
        if cie is None:
            continue
        size = struct.unpack_from("<I", content, cie)[0]
        kind = 0 if debug else encoding(content[cie + 8:cie + 4 + size])
        begin, at = encoded_pointer(kind, content, start + 8, address)
        functions.append((begin, begin + encoded_pointer(kind & 0x0F, content, at, 0)[0], start, cie))
    for each in wanted:
        here = [f for f in functions if f[0] <= each < f[1]]
        below = [f for f in functions if f[0] and f[1] <= each]
        above = [f for f in functions if f[0] > each]
        for _, _, start, cie in here or sorted(below)[-1:] + sorted(above)[:1]:
            kept |= {start, cie}
    out = bytearray()
    for start, past, _ in entries:
        if start not in kept:
            continue
        if start > len(out):
            out += struct.pack("<II", start - len(out) - 4, 0xFFFFFFFF if debug else 0)
            out += bytes(start - len(out))
        out += content[start:past]
    return bytes(out)


# An ELF file of the same program headers, with nothing but what is needed to unwind from these offsets in it.
def thinned_file(data, offsets):
    header = list(struct.unpack_from(HEADER, data))
    segments = [list(struct.unpack_from(SEGMENT, data, header[5] + i * 56)) for i in range(header[10])]
    wanted = [s[3] + offset - s[2] for offset in offsets for s in segments
              if s[0] == 1 and s[1] & 1 and s[2] <= offset < s[2] + s[5]]
    names, parts = b"\0", []
    out = bytearray(64 + 56 * len(segments))
    for name, (address, content) in sections(data).items():
        if name in (".eh_frame", ".debug_frame"):
            content = thinned(content, address, wanted, name == ".debug_frame")
            parts.append((len(names), 1, 2 if address else 0, address, len(out), len(content), 0, 0, 8, 0))
            names += name.encode() + b"\0"
            out += content
    parts.append((len(names), 3, 0, 0, len(out), len(names) + 10, 0, 0, 1, 0))
    out += names + b".shstrtab\0"
    header[5], header[6], header[12], header[13] = 64, len(out), len(parts) + 1, len(parts)
    struct.pack_into(HEADER, out, 0, *header)
    for i, segment in enumerate(segments):
        struct.pack_into(SEGMENT, out, 64 + 56 * i, *segment)
    out += bytes(64)
    for part in parts:
        out += struct.pack(SECTION, *part)
    return bytes(out)


def stack_pointers():
    found, frame = [], gdb.newest_frame()
    while frame is not None and len(found) < DEPTH:
        found.append(number(frame, "rsp"))
        frame = frame.older()
    return found


def memory_around(pointers, maps):
    found = []
    for start, end, *_ in maps:
        here = [sp for sp in pointers if start <= sp < end]
        if here:
            low, high = max(start, min(here) - BELOW), min(end, max(here) + ABOVE)
            found.append((low, bytes(gdb.selected_inferior().read_memory(low, high - low))))
    return found


def contents(path, start, end, pid):
    if path == "[vdso]":
        return bytes(gdb.selected_inferior().read_memory(start, end - start))
    return open("/proc/%d/root%s" % (pid, path), "rb").read()


def record(out):
    pid = gdb.selected_inferior().pid
    maps = mappings(pid)
    stack = [int(each, 16) for each in addresses()[0]]
    lines, files, blobs = ["recorded stack 1"], {}, []
    lines += ["register %x" % number(gdb.newest_frame(), name) for name in REGISTERS]
    for start, end, executable, offset, path in maps:
        here = [a - start + offset for a in stack if start <= a < end]
        if not executable or not here:
            continue
        if re.match(r"/|\[vdso\]", path):
            known = files.setdefault(path, (len(files), start, end, []))
            known[3].extend(here)
        lines.append("map %x %x %x %s" % (start, end, offset, files[path][0] if path in files else "-"))
    for path, (_, start, end, offsets) in files.items():
        blobs.append(thinned_file(contents(path, start, end, pid), offsets))
        lines.append("file %s %s %d" % ("vdso" if path == "[vdso]" else "file", path.split("/")[-1], len(blobs[-1])))
    for start, content in memory_around(stack_pointers(), maps):
        blobs.append(content)
        lines.append("memory %x %d" % (start, len(content)))
    lines += ["frame %x" % address for address in stack]
    with open(out, "wb") as file:
        file.write("\n".join(lines).encode() + b"\ndata\n" + b"".join(blobs))


record(gdb.parse_and_eval("$out").string())
