# SPDX-License-Identifier: Apache-2.0
"""Recordings of numbered.c, of whose events it is known which one is which: what a session has of
them, as ranges. Event 2 N is the beginning of block N, 2 N + 1 its end."""
import os
import subprocess

from harness import O

PROGRAM = os.path.join(O, "test/e2e/numbered")
FIRST = 100000  # numbered.c: block N has so many bytes more than N


def ranges(path):
    """(first, last) of each run of events without a gap, in the session's order (ranges.c)."""
    told = subprocess.run([os.path.join(O, "test/lib/ranges"), path, str(FIRST)],
                          stdout=subprocess.PIPE, check=True)
    return [tuple(map(int, line.split())) for line in told.stdout.decode().splitlines()]
