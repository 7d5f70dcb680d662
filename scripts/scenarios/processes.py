# SPDX-License-Identifier: Apache-2.0
"""The processes below this one, as /proc has them."""
import os


def descendants():
    """pid -> (state, command line) of every process below this one."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open("/proc/%s/stat" % entry, encoding="utf-8", errors="replace") as file:
                    state, parent = file.read().rpartition(")")[2].split()[:2]
                with open("/proc/%s/cmdline" % entry, "rb") as file:
                    command = file.read().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            parents[int(entry)] = (int(parent), state, command)
    below = {os.getpid()}
    while True:
        more = {pid for pid, (parent, _, _) in parents.items() if parent in below} - below
        if not more:
            return {pid: parents[pid][1:] for pid in below - {os.getpid()}}
        below |= more
