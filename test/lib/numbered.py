# SPDX-License-Identifier: Apache-2.0
"""Recordings of numbered.c, of whose events it is known which one is which: what a session has of
them, as ranges. Event 2 N is the beginning of block N, 2 N + 1 its end."""
import os
import subprocess

from harness import O

PROGRAM = os.path.join(O, "test/e2e/numbered")
FIRST = 100000  # numbered.c: block N has so many bytes more than N

RANGES = """
function see(n) {
    if (!begun || n != last + 1) {
        if (begun)
            print from, last
        from = n
    }
    last = n
    begun = 1
}
$1 == "alloc" && $6 >= first {
    at = 2 * ($6 - first)
    if (orphan && !begun)
        see(at - 1)
    see(at)
    block = $5
}
$1 == "free" && !begun { orphan = 1 }
$1 == "free" && block && $5 == block { see(at + 1); block = 0 }
END { if (begun) print from, last }
"""


def ranges(path):
    """(first, last) of each run of events without a gap, in the session's order. A free whose
    block's beginning is not there is seen where it is the session's first event."""
    with subprocess.Popen([os.path.join(O, "test/lib/events"), path],
                          stdout=subprocess.PIPE) as events:
        told = subprocess.run(["awk", "-v", "first=%d" % FIRST, RANGES], stdin=events.stdout,
                              stdout=subprocess.PIPE, check=True)
    return [tuple(map(int, line.split())) for line in told.stdout.decode().splitlines()]
