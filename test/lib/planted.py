# SPDX-License-Identifier: Apache-2.0
"""Builds of e2e/diff.cc with something planted, other lines, other order of functions, stripped;
and recordings of them."""
import functools
import os
import random
import re
import subprocess

from harness import ROOT, TMP, compiled, record, run, short, skip_all, have

SOURCE = os.path.join(ROOT, "test/e2e/diff.cc")
PLANTS = ("EXTRA", "RESERVE", "LEAK", "GROWN", "LONGER")


def _must(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise RuntimeError(
            "%s: %s" % (" ".join(command), short(done.stdout.decode(errors="replace"), 2000))
        )
    return done.stdout.decode(errors="replace")


def _compiled(command, output):
    made = compiled(command, output)
    if made.status:
        raise RuntimeError("%s: %s" % (" ".join(command), short(made.err, 2000)))


@functools.lru_cache(None)
def _unit(*command):
    """The object file that a compilation makes: each is made once."""
    unit = os.path.join(TMP, "unit-%d.o" % _unit.cache_info().misses)
    _compiled([*command, "-c", SOURCE, "-o", unit], unit)
    return unit


def build(
    name,
    plant=None,
    shift=False,
    shuffle=None,
    strip="",
    compiler="g++",
    level="-O1",
):
    """The program's path. `shuffle`: the seed of an order of its functions, which the linker is
    told. `strip`: the option of strip(1), if anything is stripped."""
    path = os.path.join(TMP, name)
    flags = ["-std=c++17", "-fno-builtin", "-ffunction-sections", level, "-g"]
    flags += ["-DPLANT_" + plant] if plant else []
    flags += ["-DSHIFT"] if shift else []
    unit = _unit(compiler, *flags)
    link = [compiler, "-fuse-ld=gold", unit, "-o", path]
    if shuffle is not None:
        sections = re.findall(r" (\.text\.\S+) +PROGBITS", _must(["readelf", "-SW", unit]))
        random.Random(shuffle).shuffle(sections)
        with open(path + ".order", "w") as file:
            file.write("\n".join(sections) + "\n")
        link.append("-Wl,--section-ordering-file=" + path + ".order")
    _compiled(link, path)
    if strip:
        _must(["strip", strip, path])
    return path


def functions(path):
    """Its functions in the order of their addresses."""
    return [
        line.split()[2]
        for line in _must(["nm", "-n", path]).splitlines()
        if len(line.split()) == 3 and line.split()[1] in "tTwW"
    ]


def recorded(path, name=None, seed=0, options=()):
    """Records a build; its session, and what it printed."""
    session = os.path.join(TMP, (name or os.path.basename(path)) + ".shiny")
    result = record([path, str(seed)], session, options=("-q", *options))
    if result.status:
        raise RuntimeError("%s: status %d: %s" % (path, result.status, short(result.err)))
    return session, {
        line.split()[0]: int(line.split()[1]) for line in result.out.decode().splitlines()
    }


def need():
    for program in ("g++", "ld.gold", "readelf", "nm", "strip"):
        if not have(program):
            skip_all("%s is not installed" % program)
