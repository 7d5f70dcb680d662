# SPDX-License-Identifier: Apache-2.0
"""libuv's own tests, as an ordinary user."""
import os

from suite import Suite, Unit, tap


class Libuv(Suite):
    name, title, package, needs = (
        "libuv",
        "libuv's uv_run_tests",
        "libuv1",
        ("cmake", "make", "gcc"),
    )

    def prepare(self):
        tree = self.source(
            [
                ["cmake", "-B", "b", "-DLIBUV_BUILD_TESTS=ON", "-DCMAKE_BUILD_TYPE=RelWithDebInfo"],
                ["make", "-C", "b", "-j2", "uv_run_tests"],
            ]
        )
        self.program = os.path.join(tree, "b/uv_run_tests")
        self.tree = tree

    def units(self):
        yield Unit(
            "uv_run_tests",
            [self.program],
            self.tree,
            {
                "UV_TEST_TIMEOUT_MULTIPLIER": "5",
                "TMPDIR": self.scratch("tmp"),
                "HOME": os.path.join(self.room, "tmp"),
            },
        )

    def verdicts(self, unit, result):
        return {
            name.split(" ", 1)[-1]: verdict
            for name, verdict in tap(result.out.decode(errors="replace")).items()
        }
