# SPDX-License-Identifier: Apache-2.0
"""What a scenario is given: the browser, the shop that it visits, and ways to look, to check and to
keep what was seen.

A check that fails is noted and the scenario goes on; what was kept (the DOM as text, pictures) is
compared between runs by `run`.
"""
import os
import time

from selenium.common.exceptions import (
    JavascriptException,
    NoSuchElementException,
    StaleElementReferenceException,
    WebDriverException,
)
from selenium.webdriver.common.by import By

from pixels import Picture

# The DOM as it is now, and what it doesn't show: the state of form fields, and what is scrolled
# where.
DOM = """
const fields = [...document.querySelectorAll("input, select, textarea")].map(e =>
	(e.id || e.name) + "=" + (e.type === "checkbox" || e.type === "radio" ? e.value + ":" + e.checked
		: e.multiple ? [...e.selectedOptions].map(o => o.value) : e.value));
return document.documentElement.outerHTML + "\\n" + fields.join("\\n") + "\\n" + location.pathname + location.search + " " + document.title
	+ " scrolled " + scrollX + "," + scrollY;
"""
LIMIT = 60  # seconds for any single state to come about


class Visit:
    def __init__(self, driver, shop, directory, levels):
        self.driver, self.shop, self.directory, self.levels = driver, shop, directory, levels
        self.checks = []  # {"name", "good", "why"}
        self.kept = []    # file names, in order

    # ---- going and looking ----
    def open(self, path):
        self.driver.get(self.shop.origin + path)

    def find(self, css):
        return self.driver.find_element(By.CSS_SELECTOR, css)

    def all(self, css):
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def text(self, css):
        return self.find(css).text

    def script(self, source, *arguments):
        return self.driver.execute_script(source, *arguments)

    def path(self):
        return self.script("return location.pathname + location.search")

    def wait(self, what, state):
        """Until state() is true; no state of a page takes LIMIT seconds. The page may change under
        the question's feet."""
        end = time.monotonic() + LIMIT
        while True:
            try:
                value = state()
            except (JavascriptException, NoSuchElementException, StaleElementReferenceException):
                value = None
            except WebDriverException as error:
                # what chromedriver says instead of StaleElementReferenceException where the page is
                # replaced in the middle of its question
                if "does not belong to the document" not in (error.msg or ""):
                    raise
                value = None
            if value:
                return value
            if time.monotonic() > end:
                raise TimeoutError("%s did not happen within %d s" % (what, LIMIT))
            time.sleep(0.02)

    def heap(self):
        """Bytes of JavaScript heap in use, by V8's own account, after a collection."""
        self.driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
        return int(self.driver.execute_cdp_cmd("Runtime.getHeapUsage", {})["usedSize"])

    # ---- checks ----
    def check(self, name, good, why=""):
        self.checks.append(
            {"name": name, "good": bool(good), "why": "" if good else str(why)[:400]}
        )
        return bool(good)

    def equal(self, name, got, expected):
        return self.check(name, got == expected, "got %r, expected %r" % (got, expected))

    # ---- keeping ----
    def keep(self, label, picture=False):
        """The DOM, and a picture of the visible part."""
        self.wait(
            "the end of loading", lambda: self.script("return document.readyState === 'complete'")
        )
        self._write(label + ".dom", self.script(DOM).encode())
        return self.picture(label) if picture else None

    def picture(self, label, png=None):
        """A screenshot, or the PNG given. Its pixels are decoded when somebody asks."""
        # nothing of the page may still be on its way to the screen: two frames after the last
        # change it is there
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() =>"
            " done()));"
        )
        data = png or self.driver.get_screenshot_as_png()
        self._write(label + ".png", data)
        return Shot(data)

    def _write(self, name, data):
        if name in self.kept:
            raise ValueError("%s is kept twice" % name)
        self.kept.append(name)
        with open(os.path.join(self.directory, name), "wb") as file:
            file.write(data)


class Shot:
    """A picture that is decoded at the first question."""

    def __init__(self, data):
        self.data = data
        self.decoded = None

    def __getattr__(self, name):
        if self.decoded is None:
            self.decoded = Picture(self.data)
        return getattr(self.decoded, name)
