# SPDX-License-Identifier: Apache-2.0
"""Debian's source packages, by apt-get with a configuration of our own (the system's may list
none), kept in /tmp from run to run."""
import glob
import os
import subprocess

from harness import have, short

KEPT = "/tmp/shiny-sources-%d" % os.getuid()


def apt(*arguments):
    base = os.path.join(KEPT, "apt")
    options = [
        "Dir::Etc::sourcelist=%s/sources.list" % base,
        "Dir::Etc::sourceparts=-",
        "Dir::State=%s/state" % base,
        "Dir::State::status=/var/lib/dpkg/status",
        "Dir::Cache=%s/cache" % base,
        "APT::Sandbox::User=",
    ]
    command = (
        ["apt-get", "-q"]
        + [word for option in options for word in ("-o", option)]
        + list(arguments)
    )
    return subprocess.run(
        command,
        cwd=KEPT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=200,
    )


def fetch(package):
    """The unpacked tree of a source package, or None and why not."""
    tree = os.path.join(KEPT, "src-" + package)
    if os.path.exists(tree):
        return tree, ""
    for tool in ("apt-get", "dpkg-source"):
        if not have(tool):
            return None, tool + " is not installed"
    base = os.path.join(KEPT, "apt")
    if not os.path.exists(os.path.join(base, "ready")):
        for name in ("state/lists/partial", "cache/archives/partial"):
            os.makedirs(os.path.join(base, name), exist_ok=True)
        with open(os.path.join(base, "sources.list"), "w") as file:
            file.write(
                "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]"
                " http://deb.debian.org/debian bookworm main\n"
            )
        updated = apt("update")
        if updated.returncode:
            return None, "the list of source packages can't be fetched: " + short(
                updated.stdout.decode(errors="replace").strip(), 200
            )
        open(os.path.join(base, "ready"), "w").close()
    got = apt("source", "--download-only", package)
    described = sorted(glob.glob(os.path.join(KEPT, package + "_*.dsc")))
    if got.returncode or not described:
        return None, "%s can't be fetched: %s" % (
            package,
            short(got.stdout.decode(errors="replace").strip(), 200),
        )
    unpacked = subprocess.run(
        ["dpkg-source", "--no-check", "-x", described[-1], tree + ".new"],
        cwd=KEPT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if unpacked.returncode:
        return None, "%s can't be unpacked: %s" % (
            package,
            short(unpacked.stdout.decode(errors="replace"), 200),
        )
    os.rename(tree + ".new", tree)
    return tree, ""
