# SPDX-License-Identifier: Apache-2.0
"""The tests of Perl's core, by the installed perl: each file of t/ is a unit of several tests."""
import glob
import os

from suite import Suite, Unit, tap


class Perl(Suite):
    name, title, package, needs = "perl", "Perl's t/", "perl", ("perl",)
    FILES = """base/[a-qs-z]*.t cmd/*.t op/fork.t op/exec.t op/die*.t op/sort.t op/array.t op/hash.t op/kill0.t op/alarm.t op/pack.t op/sprintf.t op/local.t op/closure.t op/tie*.t
        op/eval.t op/split.t op/substr.t op/push.t op/repeat.t op/threads.t op/magic.t op/glob.t op/time.t op/utfhash.t op/weak*.t op/stat.t op/sselect.t
        re/regexp.t re/subst.t re/pat.t io/pipe.t io/open.t io/fs.t io/dup.t io/argv.t io/perlio.t mro/basic.t uni/lower.t""".split()

    def prepare(self):
        tree = self.source()
        # the tests look for the library beside them: that of the installed perl
        library = os.path.join(tree, "lib")
        if not os.path.exists(os.path.join(library, "auto")):
            for path in (
                "/usr/share/perl-base/.",
                "/usr/share/perl/5.36/.",
                "/usr/lib/x86_64-linux-gnu/perl/5.36/.",
                "/usr/lib/x86_64-linux-gnu/perl-base/.",
            ):
                if os.path.exists(path):
                    os.system("cp -r --no-clobber '%s' '%s'" % (path, library))
            self.give(library)
        self.tree = tree

    def units(self):
        room = os.path.join(self.tree, "t")
        for pattern in self.FILES:
            for path in sorted(glob.glob(os.path.join(room, pattern))):
                name = os.path.relpath(path, room)
                yield Unit(
                    name,
                    ["/usr/bin/perl", name],
                    room,
                    {"PERL_CORE": "1", "PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0"},
                )

    def verdicts(self, unit, result):
        # by number: names hold those of temporary files
        return {
            name.split(" ", 1)[0]: verdict
            for name, verdict in tap(result.out.decode(errors="replace")).items()
        }
