# SPDX-License-Identifier: Apache-2.0
"""Redis's own tests (Tcl) against Debian's redis-server."""
import os
import re

from suite import Suite, Unit


class Redis(Suite):
    name, title, package, needs = (
        "redis",
        "Redis's runtest",
        "redis",
        ("redis-server", "redis-cli", "tclsh", "make", "gcc"),
    )
    UNITS = """unit/type/string unit/type/incr unit/type/hash unit/type/set unit/keyspace unit/multi unit/quit unit/auth unit/protocol unit/pubsub
        unit/scripting unit/shutdown unit/querybuf unit/bitfield unit/limits integration/rdb integration/aof integration/redis-cli integration/logging""".split()

    def prepare(self):
        tree = self.source()
        for name in (
            "redis-server",
            "redis-cli",
            "redis-benchmark",
            "redis-check-aof",
            "redis-check-rdb",
            "redis-sentinel",
        ):
            path = os.path.join(tree, "src", name)
            if not os.path.lexists(path) and os.path.exists("/usr/bin/" + name):
                os.symlink("/usr/bin/" + name, path)
        self.tree = tree

    def units(self):
        for name in self.UNITS:
            yield Unit(
                name,
                [
                    "tclsh",
                    "tests/test_helper.tcl",
                    "--clients",
                    "1",
                    "--single",
                    name,
                    "--baseport",
                    "28111",
                    "--portcount",
                    "200",
                    "--timeout",
                    "300",
                ],
                self.tree,
            )

    def verdicts(self, unit, result):
        text = re.sub(r"\x1b\[[0-9;]*m", "", result.out.decode(errors="replace"))
        found, seen = {}, {}
        for verdict, name in re.findall(
            r"^\[(ok|err|exception|skip|ignore)\]: (.*?)(?: \(\d+ ms\))?$", text, re.M
        ):
            name = re.sub(r" in tests/.*", "", name)
            seen[name] = seen.get(name, 0) + 1
            found["%s%s" % (name, "" if seen[name] == 1 else " #%d" % seen[name])] = verdict
        return found
