# SPDX-License-Identifier: Apache-2.0
"""stress-ng with --verify: stressors by a number of operations, never by time. Not there: those
that need root, disks or networks, and munmap, which unmaps the libraries that it runs in, ours
among them, and begins again when it dies of that."""
import re

from suite import Suite, Unit


class StressNg(Suite):
    name, title, needs = "stress-ng", "stress-ng --verify", ("stress-ng",)
    OPERATIONS = {
        "malloc": 4000,
        "fork": 200,
        "vfork": 200,
        "clone": 20,
        "exec": 4,
        "pthread": 100,
        "mmap": 2,
        "mremap": 4,
        "vm": 5000,
        "brk": 1000,
        "seccomp": 20,
        "daemon": 20,
        "zombie": 100,
        "sigsegv": 200,
        "stack": 5,
        "context": 500,
        "shm": 2,
        "memfd": 1,
        "madvise": 2,
        "dup": 2,
        "fault": 200,
        "futex": 500,
        "kill": 500,
        "rlimit": 20,
        "session": 10,
        "switch": 500,
        "bsearch": 2,
        "qsort": 1,
        "tree": 1,
        "hash": 5,
        "list": 10,
        "skiplist": 2,
        "zlib": 4,
        "str": 100,
        "wcs": 100,
        "prctl": 10,
        "set": 20,
        "close": 10,
        "env": 4,
        "bad-altstack": 20,
        "resources": 2,
        "tsc": 20,
    }
    SIZES = [
        "--exec-max",
        "1",
        "--malloc-bytes",
        "8m",
        "--vm-bytes",
        "8m",
        "--mmap-bytes",
        "8m",
        "--mremap-bytes",
        "8m",
        "--shm-bytes",
        "8m",
        "--memfd-bytes",
        "8m",
        "--bsearch-size",
        "4096",
        "--qsort-size",
        "4096",
        "--tree-size",
        "4096",
    ]

    def units(self):
        room = self.scratch("work")
        for stressor, count in self.OPERATIONS.items():
            yield Unit(
                stressor,
                [
                    "stress-ng",
                    "--verify",
                    "--seed",
                    "1",
                    "--temp-path",
                    room,
                    *self.SIZES,
                    "--timeout",
                    "120",
                    "--" + stressor,
                    "2",
                    "--%s-ops" % stressor,
                    str(count),
                ],
                room,
            )

    def verdicts(self, unit, result):
        # a stressor that is refused here says so and is skipped
        text = result.out.decode(errors="replace") + result.err
        verdict = {0: "ok", 2: "not ok", 3: "skip", 4: "skip"}.get(
            result.status, "status %d" % result.status
        )
        return {
            unit.name: "skip"
            if verdict == "ok" and re.search("skipp(ed|ing) stressor", text)
            else "not ok"
            if "fail:" in text
            else verdict
        }
