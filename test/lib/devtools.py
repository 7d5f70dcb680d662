# SPDX-License-Identifier: Apache-2.0
"""A small DevTools client for Chromium, over --remote-debugging-pipe: descriptors 3 (to it) and 4
(from it), JSON ended by a NUL.

    with Browser([CTL, "run", "-o", session, "--", CHROMIUM, *FLAGS, "--user-data-dir=" + profile],
    env) as browser:
        page = browser.open("file:///…")
        print(page.evaluate("document.title"), browser.processes())

Every wait ends with what was waited for, with the browser's end (BrowserGone), or after `patience`
seconds without it (TimeoutError). Nothing here prints. Standard library only.
"""
import base64
import json
import os
import select
import signal
import subprocess
import time

PATIENCE = 240  # seconds; only how long a hanging browser holds up a test
TICKS = 0.02  # seconds by which two readings of a process's time differ at the same moment


class BrowserGone(Exception):
    """The pipe's other end was closed: the browser ended."""


class ProtocolError(Exception):
    """The browser answered with an error."""


class Browser:
    """A started browser and its browser-wide session. `command` may begin with a launcher that
    hands descriptors 3 and 4 on."""

    def __init__(
        self,
        command,
        env=None,
        cwd=None,
        out=subprocess.DEVNULL,
        err=subprocess.DEVNULL,
        patience=PATIENCE,
    ):
        self.patience = patience
        self.last_id = 0
        self.buffer = b""
        self.answers = {}
        self.events = []
        held = (
            []
        # what the child finds at 3 and 4 is put there between fork and exec, where nothing else may
        # lie
        )
        while not held or held[-1] < 4:
            held.append(os.open(os.devnull, os.O_RDONLY))
        child_reads, self.to = os.pipe()
        self.from_, child_writes = os.pipe()

        def place():
            os.dup2(child_reads, 3)
            os.dup2(child_writes, 4)

        try:
            self.process = subprocess.Popen(
                list(command) + ["--remote-debugging-pipe"],
                env=env,
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                pass_fds=(3, 4),
                preexec_fn=place,
                start_new_session=True,
            )
        except BaseException:
            os.close(self.to)
            os.close(self.from_)
            raise
        finally:
            for fd in held + [child_reads, child_writes]:
                os.close(fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    # ---- messages ----
    def _send(self, message):
        data = json.dumps(message).encode() + b"\0"
        while data:
            try:
                data = data[os.write(self.to, data):]
            except BrokenPipeError:
                raise BrowserGone("the browser has closed its end") from None

    def _receive(self, end):
        """One read's worth of messages, sorted into answers and events."""
        if not select.select([self.from_], [], [], max(0, end - time.monotonic()))[0]:
            raise TimeoutError("no answer from the browser for %d s" % self.patience)
        data = os.read(self.from_, 1 << 20)
        if not data:
            raise BrowserGone("the browser has closed its end")
        *whole, self.buffer = (self.buffer + data).split(b"\0")
        for text in whole:
            message = json.loads(text)
            if "id" in message:
                self.answers[message["id"]] = message
            else:
                self.events.append(message)

    def send(self, method, session=None, **parameters):
        """Sends a call; answer() gets what became of it."""
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        self._send(message)
        return self.last_id

    def answer(self, call):
        end = time.monotonic() + self.patience
        while call not in self.answers:
            self._receive(end)
        message = self.answers.pop(call)
        if "error" in message:
            raise ProtocolError(message["error"].get("message", str(message["error"])))
        return message["result"]

    def call(self, method, session=None, **parameters):
        return self.answer(self.send(method, session, **parameters))

    def wait(self, method, session=None, accept=lambda parameters: True):
        """The parameters of the first event, past or to come, of that name and session that
        `accept` takes; it is used up."""
        end = time.monotonic() + self.patience
        seen = 0
        while True:
            for i in range(seen, len(self.events)):
                event = self.events[i]
                if (
                    event["method"] == method
                    and event.get("sessionId") == session
                    and accept(event["params"])
                ):
                    del self.events[i]
                    return event["params"]
            seen = len(self.events)
            self._receive(end)

    # ---- what tests do ----
    def version(self):
        """For example Chrome/156.0.7000.0."""
        return self.call("Browser.getVersion")["product"]

    def processes(self):
        """[{type: "browser", "renderer", "GPU", "utility", …; id: pid as the browser sees it;
        cpuTime}]"""
        return self.call("SystemInfo.getProcessInfo")["processInfo"]

    def attach(self, target):
        return Page(
            self,
            target,
            self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"],
        )

    def open(self, url):
        """A new page, loaded."""
        page = self.attach(self.call("Target.createTarget", url="about:blank")["targetId"])
        if url != "about:blank":
            page.go(url)
        return page

    def trace(self, categories, during, **config):
        """Traces those categories alone while during() runs; returns the trace's events."""
        self.call(
            "Tracing.start",
            transferMode="ReturnAsStream",
            traceConfig=dict(
                includedCategories=list(categories), excludedCategories=["*"], **config
            ),
        )
        during()
        self.call("Tracing.end")
        stream = self.wait("Tracing.tracingComplete")["stream"]
        parts = []
        while True:
            part = self.call("IO.read", handle=stream, size=1 << 20)
            parts.append(
                base64.b64decode(part["data"])
                if part.get("base64Encoded")
                else part["data"].encode()
            )
            if part["eof"]:
                break
        self.call("IO.close", handle=stream)
        found = json.loads(b"".join(parts))
        return found["traceEvents"] if isinstance(found, dict) else found

    # ---- the end ----
    def close(self):
        """Asks the browser to end, as its menu does; returns the exit status."""
        try:
            self.call("Browser.close")
        except BrowserGone:
            pass
        return self.end()

    def end(self):
        """Waits for the browser's own end; returns the exit status."""
        try:
            return self.process.wait(self.patience)
        except subprocess.TimeoutExpired:
            raise TimeoutError("the browser has not ended in %d s" % self.patience) from None
        finally:
            self.kill()

    def kill(self):
        """Ends what is left of it; nothing is left when it was closed."""
        if self.process.returncode is None and self.process.poll() is None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.process.wait()
        for fd in (self.to, self.from_):
            if fd >= 0:
                os.close(fd)
        self.to = self.from_ = -1


class Page:
    """A page (or another target) that we are attached to."""

    def __init__(self, browser, target, session):
        self.browser, self.target, self.session = browser, target, session

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def wait(self, method, accept=lambda parameters: True):
        return self.browser.wait(method, self.session, accept)

    def go(self, url):
        """Loads a page; returns when its load event has been handled."""
        self.call("Page.enable")
        self.browser.events = [
            e
            for e in self.browser.events
            if e["method"] != "Page.loadEventFired" or e.get("sessionId") != self.session
        ]
        result = self.call("Page.navigate", url=url)
        if result.get("errorText"):
            raise ProtocolError("%s: %s" % (url, result["errorText"]))
        self.wait("Page.loadEventFired")

    def evaluate(self, expression):
        """The value of a JavaScript expression, promises awaited."""
        result = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise ProtocolError(details.get("exception", {}).get("description") or details["text"])
        return result["result"].get("value")

    def pid(self):
        """The page's process, as the browser sees it: of the renderers the one whose processor time
        is what the page's process says of its own. Which has worked most is a matter of chance."""
        def times():
            return {p["id"]: p["cpuTime"] for p in self.browser.processes()
                    if p["type"] == "renderer"}

        self.call("Performance.enable")
        end = time.monotonic() + self.browser.patience
        while time.monotonic() < end:
            before = times()
            own = {m["name"]: m["value"] for m in self.call("Performance.getMetrics")["metrics"]}
            found = [pid for pid, after in times().items() if pid in before and
                     before[pid] - TICKS <= own["ProcessTime"] <= after + TICKS]
            if len(found) == 1:
                return found[0]
            self.evaluate("for (const end = performance.now() + 50; performance.now() < end;); 0")
        raise TimeoutError("the page's process is not told apart: %s of %s" % (found, before))

    def screenshot(self):
        """PNG bytes."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
