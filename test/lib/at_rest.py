# SPDX-License-Identifier: Apache-2.0
"""Recorded processes that stand still until the sidecar has looked at the memory of each, so that
what the kernel lists of them before and after is what a look between the two must have found."""
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


def stop_all(pids):
    """Stops processes, and tells when all stand still."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    for pid in pids:
        for task in os.listdir("/proc/%d/task" % pid):
            while True:
                try:
                    with open("/proc/%d/task/%s/stat" % (pid, task)) as file:
                        if file.read().rsplit(")", 1)[1].split()[0] in "TtZX":
                            break
                except (FileNotFoundError, ProcessLookupError):
                    break
                time.sleep(0.01)


def looked_at_rest(session, pids):
    """Looks while everything stands still: (begin, end, [(pid, kernel's sum before, after)]),
    CLOCK_BOOTTIME in ns."""
    stop_all(pids)
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
