# SPDX-License-Identifier: Apache-2.0
"""CPython's own tests, as Debian ships them, of the installed interpreter; verdicts from the report
that its runner writes."""
import os
import xml.etree.ElementTree

from suite import Suite, Unavailable, Unit, run


class CPython(Suite):
    name, title, needs = "cpython", "CPython's test package", ("python3",)
    MODULES = """test_dict test_list test_json test_re test_bytes test_int test_fork1 test_wait3 test_subprocess test_posix test_os test_signal test_threadsignals test_thread
        test_threading test_threading_local test_mmap test_ctypes test_gc test_weakref test_faulthandler test_select test_pty test_tempfile test_shutil test_zlib test_bz2
        test_struct test_array test_memoryview test_pickle test_resource test_popen test_atexit test_exceptions test_contextlib test_socketserver test_audit
        test_cmd_line""".split()

    def prepare(self):
        told = run(
            [
                "/usr/bin/python3",
                "-c",
                "import test.support, test.test_dict; print(test.__path__[0])",
            ],
            user=self.user,
        )
        if told.status:
            raise Unavailable("python3's test package is not installed (libpython3-testsuite)")
        self.there = told.out.decode().strip()

    def units(self):
        room = self.scratch("work")
        for module in self.MODULES:
            if os.path.exists(os.path.join(self.there, module)) or os.path.exists(
                os.path.join(self.there, module + ".py")
            ):
                yield Unit(
                    module,
                    [
                        "/usr/bin/python3",
                        "-m",
                        "test",
                        "--junit-xml",
                        os.path.join(room, "report.xml"),
                        "--tempdir",
                        room,
                        "--timeout",
                        "300",
                        module,
                    ],
                    room,
                )

    def before(self, unit):
        self.report = os.path.join(unit.cwd, "report.xml")
        if os.path.exists(self.report):
            os.unlink(self.report)

    def verdicts(self, unit, result):
        found = {}
        if os.path.exists(self.report):
            for case in xml.etree.ElementTree.parse(self.report).iter("testcase"):
                kind = next(
                    (child.tag for child in case if child.tag in ("error", "failure", "skipped")),
                    "ok",
                )
                found[case.get("name")] = {"skipped": "skip", "ok": "ok"}.get(kind, "not ok")
        return found
