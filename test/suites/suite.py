# SPDX-License-Identifier: Apache-2.0
"""A program's own tests, run bare and under Shiny, and compared test by test.

A suite has units: commands that each run some tests. A unit runs bare twice, under a plain
LD_PRELOAD, and under `shinyctl run`. Tests whose verdict is the same in both bare runs must have it
in the recorded ones. Where one has not, the unit runs bare three times more: a test that differs
there as well is flaky by itself and is named; any other is a failure.
"""
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import *  # noqa: E402
from sources import fetch  # noqa: E402

ROOM = os.path.join(O, "suites")
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
LIMIT = 900


class Unavailable(Exception):
    """Why a suite can't be run here."""


class Unit:
    def __init__(self, name, command, cwd, env=None):
        self.name, self.command, self.cwd, self.env = name, command, cwd, env or {}


class Suite:
    """name; what it is called in the table; the source package, or None; programs that it needs."""
    name = title = package = None
    needs = ()
    AS_ROOT = False

    def __init__(self):
        self.room = os.path.join(ROOM, self.name)
        os.makedirs(ROOM, exist_ok=True)
        self.user = None
        if os.getuid() == 0 and not self.AS_ROOT:
            self.user = User(os.path.join(ROOM, "user"))
            why = self.user.cannot()
            if why:
                raise Unavailable(why)
        missing = [program for program in self.needs if not shutil.which(program, path=PATH)]
        if missing:
            raise Unavailable(
                "not installed: %s (scripts/setup suites installs them)" % ", ".join(missing)
            )

    def source(self, build=()):
        """The suite's own copy of its sources, built once by `build`, that its user may write."""
        tree = os.path.join(self.room, "tree")
        if os.path.exists(os.path.join(self.room, "ready")):
            return tree
        kept, why = fetch(self.package)
        if not kept:
            raise Unavailable(why)
        shutil.rmtree(self.room, ignore_errors=True)
        shutil.copytree(kept, tree, symlinks=True)
        self.give(self.room)
        for command in build:
            done = run(command, {"PATH": PATH, "LC_ALL": "C.UTF-8"}, 1500, tree, user=self.user)
            if done.status:
                raise Unavailable(
                    "%s: status %d: %s"
                    % (
                        " ".join(command),
                        done.status,
                        short((done.out.decode(errors="replace") + done.err)[-400:], 400),
                    )
                )
        open(os.path.join(self.room, "ready"), "w").close()
        return tree

    def give(self, path):
        if self.user:
            for folder, folders, names in os.walk(path):
                for name in [".", *folders, *names]:
                    os.chown(
                        os.path.join(folder, name),
                        self.user.uid,
                        self.user.uid,
                        follow_symlinks=False,
                    )

    def scratch(self, name):
        """An empty directory that the suite's user may write."""
        path = os.path.join(self.room, name)
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)
        self.give(path)
        if self.user:
            os.chown(self.room, self.user.uid, self.user.uid)
        return path

    def prepare(self):
        """Fetches and builds; raises Unavailable."""

    def units(self):
        raise NotImplementedError

    def verdicts(self, unit, result):
        """{test: verdict} of what a unit printed and left."""
        raise NotImplementedError

    # ---- running ----
    def once(self, unit, how):
        """(verdicts, seconds, losses) of one run."""
        env = {"PATH": PATH, "LC_ALL": "C.UTF-8", "TZ": "UTC", **unit.env}
        self.before(unit)
        session = os.path.join(self.user.directory if self.user else ROOM, "session.shiny")
        if not how:
            result = run(unit.command, env, LIMIT, unit.cwd, user=self.user)
        else:
            result = record(
                unit.command,
                session,
                how,
                "",
                env,
                LIMIT,
                unit.cwd,
                options=("--no-events",) if how == "run" else (),
                user=self.user,
            )
        found = self.verdicts(unit, result)
        found["(exit status)"] = str(as_shell(result.status))
        losses = None
        if how:
            if is_complete(session):
                with Session(session) as s:
                    losses = s.losses()
            else:
                losses = {"no finished session": 1}
            remove_session(session)
        return found, result.seconds, losses

    def before(self, unit):
        """Puts things back as they were before a run."""


def tap(text):
    """{test: verdict} of the Test Anything Protocol, numbered, as names may come twice."""
    found = {}
    for good, number, name in re.findall(r"^(ok|not ok) (\d+)(?: - ([^\n]*?))?\s*$", text, re.M):
        directive = re.search(r"#\s*(skip|todo)", name, re.I)
        found["%s %s" % (number, name.split("#")[0].strip())] = (
            directive.group(1).lower() if directive else good
        )
    return found


class Outcome:
    """What the comparison of a suite gave."""

    def __init__(self):
        self.tests, self.verdicts = 0, {}
        self.flaky, self.different, self.losses, self.seconds = [], [], {}, {}

    def count(self, verdicts):
        for verdict in verdicts.values():
            self.verdicts[verdict] = self.verdicts.get(verdict, 0) + 1


def compare(suite, ways=("preload", "run"), say=print):
    """Runs all units of a suite."""
    outcome = Outcome()
    chosen = os.environ.get("SHINY_SUITES_UNITS", "").split()
    for unit in (unit for unit in suite.units() if not chosen or unit.name in chosen):
        bares = []
        for _ in range(2):
            found, seconds, _ = suite.once(unit, "")
            bares.append(found)
            outcome.seconds["bare"] = outcome.seconds.get("bare", 0) + seconds / 2
        first = bares[0]
        if len(first) <= 1:
            outcome.different.append("%s: no test was found in what it printed" % unit.name)
            continue
        outcome.tests += len(first) - 1 # without the exit status
        outcome.count({test: verdict for test, verdict in first.items() if test != "(exit status)"})

        def unstable(test):
            return len({bare.get(test, "(not run)") for bare in bares}) > 1
        for how in ways:
            found, seconds, losses = suite.once(unit, how)
            outcome.seconds[how] = outcome.seconds.get(how, 0) + seconds
            for name, count in (losses or {}).items():
                outcome.losses[name] = outcome.losses.get(name, 0) + count
            suspects = [
                test
                for test in sorted(first.keys() | found.keys())
                if found.get(test) != first.get(test) and not unstable(test)
            ]
            while suspects and len(bares) < 5:
                bares.append(suite.once(unit, "")[0])
            for test in suspects:
                if not unstable(test):
                    outcome.different.append(
                        "%s, %s: %s is %s instead of %s"
                        % (
                            how,
                            unit.name,
                            test,
                            found.get(test, "not run"),
                            first.get(test, "not run"),
                        )
                    )
        outcome.flaky += [
            "%s: %s" % (unit.name, test) for test in sorted(set().union(*bares)) if unstable(test)
        ]
        say("# %s/%s: %d tests" % (suite.name, unit.name, len(first)))
    return outcome
