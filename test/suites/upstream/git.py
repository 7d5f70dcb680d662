# SPDX-License-Identifier: Apache-2.0
"""Git's own tests against the installed git; only the helper of the tests is built."""
import glob
import os

from suite import Suite, Unit, tap


class Git(Suite):
    name, title, package, needs = "git", "git's t/", "git", ("git", "make", "gcc")
    FILES = (
        "t0000 t0001 t0002 t0005 t0020 t0040 t0061 t0090 t1300 t1400 t1500 t2000 t2020 t3000 t7500"
        .split()
    )
    OPTIONS = [
        "NO_CURL=1",
        "NO_EXPAT=1",
        "NO_GETTEXT=1",
        "NO_TCLTK=1",
        "NO_PYTHON=1",
        "NO_OPENSSL=1",
        "CFLAGS=-O1",
    ]

    def prepare(self):
        self.tree = self.source(
            [
                ["make", "-j2", *self.OPTIONS, "GIT-BUILD-OPTIONS", "t/helper/test-tool"],
                ["make", "-C", "templates"],
            ]
        )

    def units(self):
        room = os.path.join(self.tree, "t")
        trash = self.scratch("trash")
        for number in self.FILES:
            for path in sorted(glob.glob(os.path.join(room, number + "-*.sh"))):
                name = os.path.basename(path)
                yield Unit(
                    name,
                    ["bash", name, "--no-color", "--root=" + trash],
                    room,
                    {
                        "GIT_TEST_INSTALLED": "/usr/bin",
                        "HOME": trash,
                        "TEST_OUTPUT_DIRECTORY": trash,
                    },
                )

    def verdicts(self, unit, result):
        return tap(result.out.decode(errors="replace"))
