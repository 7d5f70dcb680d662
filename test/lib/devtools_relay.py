#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stands between `shinyctl run --devtools` and a Chromium, and writes down what each says: what the
test's own reading is made from.

Usage: devtools_relay.py LOG CLOSE CHROMIUM [ARGUMENT...], with descriptors 3 and 4 as Chromium has
them. LOG.from gets all bytes of the browser, LOG.calls a line a call: its id and method; LOG.N
appears when the N-th heap snapshot has been read and its page left. After the CLOSE-th (0: never)
the browser is asked to close, as its menu does. SIGTERM is passed on; LOG.pid holds the browser's
pid. Exits as the browser did.
"""
import json
import os
import signal
import subprocess
import sys
import threading

log, close, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
child_reads, to = os.pipe()
from_, child_writes = os.pipe()


def place():
    os.dup2(child_reads, 3)
    os.dup2(child_writes, 4)


browser = subprocess.Popen(command, pass_fds=(3, 4), preexec_fn=place)
signal.signal(signal.SIGTERM, lambda *_: browser.terminate())
os.close(child_reads)
os.close(child_writes)
with open(log + ".pid", "w") as out:
    out.write(str(browser.pid))
waiting = []  # [snapshots, the call after which they are done]
lock = threading.Lock()


def asking():
    buffer, snapshots = b"", 0
    with open(log + ".calls", "w") as calls:
        while True:
            data = os.read(3, 65536)
            if not data:
                return
            *whole, buffer = (buffer + data).split(b"\0")
            for text in whole:
                call = json.loads(text)
                calls.write("%d %s\n" % (call["id"], call["method"]))
                calls.flush()
                snapshots += call["method"] == "HeapProfiler.disable"
                with lock:
                    if call["method"] == "Target.detachFromTarget":
                        waiting.append((snapshots, call["id"]))
                try:
                    os.write(to, text + b"\0")
                except BrokenPipeError:
                    return


threading.Thread(target=asking, daemon=True).start()
buffer, done = b"", 0
with open(log + ".from", "wb") as out:
    while True:
        data = os.read(from_, 1 << 20)
        if not data:
            break
        out.write(data)
        out.flush()
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(4, view):]
        except BrokenPipeError:
            pass
        *whole, buffer = (buffer + data).split(b"\0")
        for text in whole:
            if not text.startswith(b'{"id":'):
                continue
            answer = json.loads(text)["id"]
            with lock:
                found = [snapshots for snapshots, call in waiting if call == answer]
            if found and found[0] > done:
                done = found[0]
                open("%s.%d" % (log, done), "w").close()
                if done == close:
                    os.write(to, b'{"id":1000000000,"method":"Browser.close"}\0')
status = browser.wait()
os._exit(status if status >= 0 else 128 - status)
