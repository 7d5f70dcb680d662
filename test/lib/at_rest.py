# SPDX-License-Identifier: Apache-2.0
"""Recorded processes that stand still until the sidecar has looked at the memory of each, so that
what the kernel lists of them before and after is what a look between the two must have found."""
import contextlib
import glob
import os
import signal
import sqlite3
import time

from harness import Session

# seconds in which all processes must have been looked at; a hundredth of it on an idle machine
PATIENCE = 400


def rss_of(pid):
    """Bytes; 0 for a process that has ended."""
    try:
        with open("/proc/%d/smaps" % pid) as file:
            return sum(int(line.split()[1]) * 1024 for line in file if line.startswith("Rss:"))
    except (FileNotFoundError, ProcessLookupError):
        return 0


def look_counts(session):
    """{pid: number of looks}; nothing while the file is not readable."""
    try:
        with Session(session) as s:
            return dict(
                s.rows(
                    "SELECT p.pid, COUNT(*) FROM memory m JOIN process p ON p.id = m.process GROUP"
                    " BY p.pid"
                )
            )
    except sqlite3.Error:
        return {}


def state_of(stat):
    """The letter of a task's state in a file of /proc; X if it has ended."""
    try:
        with open(stat) as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"


def stop_all(pids):
    """Stops processes. Returns those that stand still: a browser ends some of its own accord."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    for stat in [stat for pid in pids for stat in glob.glob("/proc/%d/task/*/stat" % pid)]:
        while state_of(stat) not in "TtZX":
            time.sleep(0.01)
    return [pid for pid in pids if state_of("/proc/%d/stat" % pid) in "Tt"]


def looked_at_rest(session, pids):
    """Looks while everything stands still: (begin, end, [(pid, kernel's sum before, after)]),
    CLOCK_BOOTTIME in ns."""
    pids = stop_all(pids)
    before, begin = {pid: rss_of(pid) for pid in pids}, time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    looks, end = look_counts(session), time.monotonic() + PATIENCE
    # one may be on its way to the file, and one may have begun before and be taken in later
    # (errands.h)
    while time.monotonic() < end and not all(
        look_counts(session).get(pid, 0) > looks.get(pid, 0) + 2 for pid in pids
    ):
        time.sleep(0.1)
    last, after = time.clock_gettime_ns(time.CLOCK_BOOTTIME), {pid: rss_of(pid) for pid in pids}
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    return begin, last, [(pid, before[pid], after[pid]) for pid in pids]
