# SPDX-License-Identifier: Apache-2.0
"""How the tests start Debian's Chromium: without a screen, the network, or anything that waits for
the time of day."""
import contextlib
import fcntl
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess

import memory_infra
from at_rest import looked_at_rest
from devtools import Browser
from harness import CTL, LIB, LONG, O, ROOT, environment, is_complete, record, run, short

INSTALLED = "/usr/lib/chromium/chromium"
SWEEP = os.path.join(O, "test/e2e/sizes_sweep.so")
KEPT_OPEN = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
FLAGS = KEPT_OPEN + ["--virtual-time-budget=3000"]
PAGE = "file://" + os.path.join(ROOT, "test/e2e/page.html")
PAGE_SAYS = b"8000 cells, 8000 laid out, 200 rows"
# the same page, of fewer cells where it is to be quick
SHORTER = PAGE if LONG else PAGE + "?cells=500"


SMALL = "data:text/html,<title>page</title><p>small"  # for what does not depend on the page
# as Chromium prints it without us
SMALL_DOM = b"<html><head><title>page</title></head><body><p>small</p></body></html>\n"


def command_of(chromium, profile, page=PAGE):
    """The command that prints the page's DOM; `profile` is a directory that does not exist yet."""
    return [chromium] + FLAGS + ["--user-data-dir=" + profile, "--dump-dom", page]


def lend_cache(user):
    """Gives a User what is known of the installed Chromium's file; nothing, if nobody asked yet."""
    build = re.findall(r"Build ID: ([0-9a-f]+)", run(["readelf", "-n", INSTALLED]).out.decode())[0]
    ours, theirs = (os.path.join(place, "shiny") for place in
                    (os.environ["XDG_CACHE_HOME"], user.environment["XDG_CACHE_HOME"]))
    for path in glob.glob(os.path.join(ours, "*", build + "*")):
        shelf = os.path.join(theirs, os.path.basename(os.path.dirname(path)))
        os.makedirs(shelf, mode=0o700, exist_ok=True)
        shutil.copy(path, shelf)
        for one in (theirs, shelf, os.path.join(shelf, os.path.basename(path))):
            os.chown(one, user.uid, user.uid)


# the document, as --dump-dom prints it
DOM = """new XMLSerializer().serializeToString(document.doctype) + "\\n" +
         document.documentElement.outerHTML + "\\n\""""


def driven_page(chromium, session, profile, options=()):
    """Records a Chromium on SHORTER by `shinyctl run`. {"status": its own; "rest": its processes
    standing still, as looked_at_rest(); "dom": the page's; "dump": the trace of a memory-infra
    dump, None where the browser failed to make it}"""
    command = [CTL, "run", "-f", *options, "-o", session, "--", chromium, *KEPT_OPEN]
    with Browser([*command, "--user-data-dir=" + profile],
                 environment({"SHINY_MEMORY_PERIOD": "200"})) as browser:
        page = browser.open(SHORTER)
        rest = looked_at_rest(session, [p["id"] for p in browser.processes()])
        truth = {"rest": rest, "dom": page.evaluate(DOM), "dump": memory_infra.dump(browser)}
        truth["status"] = browser.close()
    return truth


@contextlib.contextmanager
def shelf(name):
    """A directory of recordings that several tests read, which is nobody else's meanwhile. Other
    builds of ours record them anew."""
    key = hashlib.sha256()
    for path in (LIB, CTL, INSTALLED, PAGE[len("file://") :], SWEEP):
        told = os.stat(path)
        key.update(repr((path, told.st_size, told.st_mtime_ns, SHORTER)).encode())
    place = os.path.join(O, "test/recorded", key.hexdigest()[:12])
    os.makedirs(place, exist_ok=True)
    with open(os.path.join(os.path.dirname(place), name + ".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for other in os.listdir(os.path.dirname(place)):
            if other != os.path.basename(place) and not other.endswith(".lock"):
                shutil.rmtree(os.path.join(os.path.dirname(place), other), ignore_errors=True)
        yield place


def recorded_page():
    """The installed Chromium on SHORTER, once for all tests that only read it: (session, its
    --summary, what driven_page() says of it)."""
    with shelf("page") as place:
        session, summary, truth = (
            os.path.join(place, name) for name in ("page.shiny", "page.json", "truth.json"))
        if not (is_complete(session) and os.path.exists(truth)):
            profile = os.path.join(place, "profile")
            made = driven_page(INSTALLED, session, profile, ("--summary", summary))
            shutil.rmtree(profile, ignore_errors=True)
            if made["status"] or "200 rows" not in made["dom"] or not is_complete(session):
                raise RuntimeError("status %d: %s" % (made["status"], short(made["dom"])))
            with open(truth, "w") as file:
                json.dump(made, file)
    with open(truth) as file:
        return session, summary, json.load(file)


def swept_page(chromium=INSTALLED):
    """The same once more, of any Chromium, with the library e2e/sizes_sweep below ours: (session,
    what the library wrote)."""
    name = "swept" if chromium == INSTALLED else "swept-old"
    with shelf(name) as place:
        session, told = (os.path.join(place, name + end) for end in (".shiny", ".txt"))
        if not is_complete(session):
            if os.path.exists(told):
                os.unlink(told)
            profile = os.path.join(place, name + "-profile")
            made = record(command_of(chromium, profile, SHORTER), session, below=SWEEP,
                          env={"SIZES_SWEEP": told})
            shutil.rmtree(profile, ignore_errors=True)
            if made.status or b"laid out, 200 rows" not in made.out or not is_complete(session):
                raise RuntimeError("status %d: %s" % (made.status, short(made.err)))
    return session, told


def old_chromium():
    """Where an unpacked Chromium 150 is; (path, "") or (None, why not)."""
    named = os.environ.get("CHROMIUM_150")
    if named:
        found = [
            p
            for p in (
                named,
                named + "/chromium",
                named + "/usr/lib/chromium/chromium",
                named + "/root/usr/lib/chromium/chromium",
            )
            if os.path.isfile(p) and os.access(p, os.X_OK)
        ]
        return (found[0], "") if found else (None, "CHROMIUM_150=%s holds no chromium" % named)
    kept = os.path.join(O, "chromium150")
    binary = os.path.join(kept, "root/usr/lib/chromium/chromium")
    if os.path.exists(binary):
        return binary, ""
    os.makedirs(kept, exist_ok=True)
    listed = subprocess.run(["apt-cache", "madison", "chromium"], capture_output=True, text=True)
    versions = [line.split("|")[1].strip() for line in listed.stdout.splitlines() if "|" in line]
    version = next((v for v in versions if v.startswith("150.")), None)
    if not version:
        return (
            None,
            "apt offers no chromium 150 (only %s); CHROMIUM_150=DIRECTORY names an unpacked one"
            % (", ".join(versions) or "none"),
        )
    fetched = subprocess.run(
        [
            "apt-get",
            "-o",
            "APT::Sandbox::User=root",
            "download",
            "chromium=" + version,
            "chromium-common=" + version,
        ],
        cwd=kept,
        capture_output=True,
        text=True,
    )
    if fetched.returncode:
        return None, "chromium %s was not downloaded: %s" % (
            version,
            fetched.stderr.strip().splitlines()[-1:],
        )
    for package in glob.glob(os.path.join(kept, "*.deb")):
        subprocess.run(["dpkg-deb", "-x", package, os.path.join(kept, "root")], check=True)
        os.unlink(package)
    return binary, ""
