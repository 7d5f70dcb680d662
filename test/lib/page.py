# SPDX-License-Identifier: Apache-2.0
"""What the tests of `shinyctl html` do with a page in Chromium: open it, choose by its address, by
keys, read its tables, and let axe-core look at it."""
import json
import os

from harness import ROOT


def settled(tab):
    """Until the page has drawn; the number of milliseconds that it took to open."""
    return float(tab.evaluate("""new Promise(done => { const look = () =>
      document.documentElement.dataset.ready ? done(document.documentElement.dataset.ready)
        : setTimeout(look, 20); look(); })"""))


def shot(tab, path):
    with open(path, "wb") as file:
        file.write(tab.screenshot())


def go(tab, words):
    """Another filter or view, by the address; until its tables are there."""
    tab.evaluate("""(async () => {
      const shown = new Promise(done => addEventListener('hashchange', done, { once: true }));
      const before = location.href;
      location.hash = %s;
      if (location.href !== before) await shown;
      await shiny.tablesBuilt(); })()""" % json.dumps(words))


def wait_tables(tab):
    """Until the tables of what was chosen otherwise are there."""
    tab.evaluate("shiny.tablesBuilt().then(() => 1)")


def look(tab, url, dark, width=1366, height=900):
    for domain in ("Page", "Runtime", "Log", "Network"):
        tab.call(domain + ".enable")
    tab.call("Emulation.setEmulatedMedia",
             features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
    tab.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
             mobile=False)
    tab.go(url)
    return settled(tab)


def shown_value(tab, cards, title):
    """The text of a card."""
    return tab.evaluate(
        "(one => one && one.nextSibling.firstChild.textContent)([...document.querySelectorAll("
        "'#%s dt')].find(dt => dt.textContent === %s))" % (cards, json.dumps(title)))


def rows_of(tab, table):
    """The names in a table, sorted."""
    return sorted(json.loads(tab.evaluate(
        "JSON.stringify([...document.querySelectorAll('#%s button.name')].map(one => "
        "one.textContent))" % table)))


def press(tab, key, code, **more):
    for kind in ("keyDown", "keyUp"):
        tab.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code,
                 **(more if kind == "keyDown" else {}))


def axe(cases, tab, name):
    path = os.path.join(ROOT, "src/view/page/node_modules/axe-core/axe.min.js")
    if not os.path.exists(path):
        cases.skip("axe/" + name, "make setup PACKAGES=test installs axe-core")
        return
    if not tab.evaluate("Boolean(window.axe)"):
        with open(path) as file:
            tab.evaluate(file.read() + "; 1")
    found = json.loads(tab.evaluate(
        "axe.run({resultTypes: ['violations']}).then(all => JSON.stringify(all.violations.filter("
        "one => ['serious', 'critical'].includes(one.impact)).map(one => "
        "[one.id, one.nodes.slice(0, 3).map(n => n.html)])))"))
    cases.equal("axe/" + name, found, [])
