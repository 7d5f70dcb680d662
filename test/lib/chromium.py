# SPDX-License-Identifier: Apache-2.0
"""How the tests start Debian's Chromium: without a screen, the network, or anything that waits for the time of day."""
import os

from harness import ROOT

INSTALLED = "/usr/lib/chromium/chromium"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--virtual-time-budget=3000"]
PAGE = "file://" + os.path.join(ROOT, "test/e2e/page.html")
PAGE_SAYS = b"8000 cells, 8000 laid out, 200 rows"


def command_of(chromium, profile):
    """The command that prints the page's DOM; `profile` is a directory that does not exist yet."""
    return [chromium] + FLAGS + ["--user-data-dir=" + profile, "--dump-dom", PAGE]
