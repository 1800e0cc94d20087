# SPDX-License-Identifier: Apache-2.0
#
# Run by gdb: what it says about the stack of thread $tid, at $steps successive instructions. Each stop is a line: addresses,
# leaf first, those of callers inside the call that was made; then why the stack ends there, and the name of the last
# frame's function. Frames that only debug information knows of (inlined, left by a tail call) are not on the stack.

import gdb

DEPTH = 1100


def addresses():
    found, exact = [], True
    frame = gdb.newest_frame()
    while frame is not None and len(found) < DEPTH:
        if not frame.pc():  # a return address of zero ends a stack as well
            return found, "outermost", last.name()
        last = frame
        if frame.type() in (gdb.NORMAL_FRAME, gdb.SIGTRAMP_FRAME):
            found.append("%x" % (frame.pc() - (0 if exact else 1)))
            exact = frame.type() == gdb.SIGTRAMP_FRAME
        frame = frame.older()
    return found, gdb.frame_stop_reason_string(last.unwind_stop_reason()), last.name()


def choose_thread(tid):
    for thread in gdb.selected_inferior().threads():
        if thread.ptid[1] == tid:
            thread.switch()
            return
    raise gdb.GdbError("no thread %d" % tid)


choose_thread(int(gdb.parse_and_eval("$tid")))
for setting in ("scheduler-locking on", "backtrace past-main on", "backtrace past-entry on"):
    gdb.execute("set " + setting, to_string=True)
for step in range(int(gdb.parse_and_eval("$steps"))):
    if step:
        gdb.execute("stepi", to_string=True)
    stack, why, name = addresses()
    print("stop %s | %s | %s" % (" ".join(stack), why, name or "?"))
