# SPDX-License-Identifier: Apache-2.0
"""The fourteen scenarios: what a reader does in the shop, and how one sees that it really happened.

Each is a function of a Visit (visit.py); SCENARIOS at the end lists them under the names that the
literature gives them. What can be known independently is: what the server received (shop.py), what
Python works out for itself, what the pixels of the picture are.
"""
import base64
import itertools
import math

from selenium.common.exceptions import JavascriptException, NoAlertPresentException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from shop import BOOKS, REVIEWS_A_PAGE, TOUR

INK, SEA = (29, 43, 54), (15, 94, 120)


def open_home_page(v):
    v.open("/")
    v.equal("title", v.driver.title, "Welcome · Harbour Books")
    v.equal("heading", v.text("h1"), "Old books, new readers")
    v.equal("books", [e.text for e in v.all("#front h3")], [b["title"] for b in BOOKS[:12]])
    v.equal("hours", len(v.all("#hours tbody tr")), 7)
    v.equal(
        "style",
        v.script("return getComputedStyle(document.querySelector('.top')).backgroundColor"),
        "rgb(15, 94, 120)",
    )
    v.equal("served", (v.shop.count("/", 200), v.shop.count("/style.css", 200)), (1, 1))
    shot = v.keep("home", picture=True)
    v.equal("header is drawn", shot.at(4, 4), SEA)
    v.check("text is drawn", shot.colours() > 200, "only %d colours" % shot.colours())


def click_link(v):
    v.open("/")
    v.find("nav a[href='/catalogue']").click()
    v.wait("the catalogue", lambda: v.path() == "/catalogue")
    v.equal("rows", len(v.all("#catalogue tbody tr")), len(BOOKS))
    v.keep("catalogue")
    for book in (BOOKS[6], BOOKS[16]):
        v.find("#catalogue a[href='/book/%d']" % book["id"]).click()
        v.wait("the book", lambda: v.path() == "/book/%d" % book["id"])
        v.equal(
            "book %d" % book["id"],
            (v.text("#book-title"), v.text("#author"), v.text("#blurb")),
            (book["title"], book["author"], book["blurb"]),
        )
        v.keep("book-%d" % book["id"], picture=True)
        v.find("#up").click()
        v.wait("the catalogue again", lambda: v.path() == "/catalogue")
    v.find("#catalogue a[href='/book/24']").click()
    v.wait("the last book", lambda: v.path() == "/book/24" and v.all("#next"))
    v.find("#next").click()
    v.wait("the next on the shelf", lambda: v.path() == "/book/19")
    v.equal("served", [v.shop.count("/book/%d" % n, 200) for n in (7, 17, 24, 19)], [1, 1, 1, 1])
    v.keep("next")


def fill_form(v):
    v.open("/register")
    about = "I read on trains.\nMostly sea stories & maps, some <poetry>."
    for field, keys in (
        ("name", "Ada Björnsdóttir"),
        ("email", "ada@example.org"),
        ("phone", "+354 555 0199"),
        ("secret", "nine lives!"),
        ("born", "1984"),
        ("about", about),
    ):
        v.find("#" + field).send_keys(keys)
    Select(v.find("#branch")).select_by_value("mill")
    for shelf in ("Adventure", "Science"):
        Select(v.find("#shelves")).select_by_visible_text(shelf)
    v.find("input[name=news][value=weekly]").click()
    for interest in ("maps", "binding"):
        v.find("input[name=interest][value=%s]" % interest).click()
    for _ in range(5):
        v.find("#pace").send_keys(Keys.ARROW_RIGHT)
    v.equal("pace", v.text("#pace-shown"), "7")
    v.find("#send").click()
    v.equal(
        "refused without the rules",
        (v.path(), v.shop.received("POST", "/register")),
        ("/register", []),
    )
    v.check(
        "the browser says so",
        v.script("return document.querySelector('#rules').validity.valueMissing"),
        "rules is not missing",
    )
    v.find("#rules").click()
    v.script("document.activeElement.blur()")
    v.keep("filled", picture=True)
    v.find("#send").click()
    v.wait("the receipt", lambda: v.all("#receipt"))
    expected = [
        ["name", "Ada Björnsdóttir"],
        ["email", "ada@example.org"],
        ["phone", "+354 555 0199"],
        ["secret", "nine lives!"],
        ["born", "1984"],
        ["branch", "mill"],
        ["shelves", "Adventure"],
        ["shelves", "Science"],
        ["news", "weekly"],
        ["interest", "maps"],
        ["interest", "binding"],
        ["about", about.replace("\n", "\r\n")],
        ["pace", "7"],
        ["rules", "yes"],
    ]
    v.equal(
        "received",
        [[list(pair) for pair in body] for body in v.shop.received("POST", "/register")],
        [expected],
    )
    v.equal(
        "receipt",
        v.text("#receipt"),
        "Your card number is %04d." % (sum(map(ord, "ada@example.org")) % 10000),
    )
    v.keep("thanks", picture=True)


def multi_step_form(v):
    v.open("/order")

    def errors():
        return sorted(e.get_attribute("data-field") for e in v.all(".error"))

    def fill(**fields):
        for name, keys in fields.items():
            field = v.find("[name=%s]" % name)
            field.clear()
            field.send_keys(keys)

    def step():
        return v.script(
            "return [...document.querySelectorAll('#steps li')].findIndex(e => e.className ==="
            " 'now')"
        )

    fill(book="99", copies="many")
    v.find("#forward").click()
    v.equal("step 1 refuses", (step(), errors()), (0, ["book", "copies"]))
    v.keep("refused")
    fill(book="7", copies="2")
    v.find("#forward").click()
    v.equal("step 1 accepts", (step(), errors()), (1, []))
    fill(name="Jo", street="Long Lane", code="1234", email="jo@nowhere")
    v.find("#forward").click()
    v.equal("step 2 refuses", (step(), errors()), (1, ["code", "email", "name", "street"]))
    v.script("document.activeElement.blur()")
    v.keep("address", picture=True)
    fill(name="Jo March", street="Long Lane 4", code="12345", email="jo@example.org")
    v.find("#back").click()
    v.equal("back keeps", (step(), v.find("[name=book]").get_attribute("value")), (0, "7"))
    v.find("#forward").click()
    v.find("#forward").click()
    v.equal("step 2 accepts", (step(), errors()), (2, []))
    fill(date="2027-02-31x")
    v.find("#forward").click()
    v.equal("step 3 refuses", (step(), errors()), (2, ["date", "way"]))
    v.find("[name=way][value=bicycle]").click()
    v.find("[name=wrap]").click()
    fill(date="2027-02-28")
    v.find("#forward").click()
    v.equal("step 3 accepts", step(), 3)
    fields = {
        "book": "7",
        "copies": "2",
        "name": "Jo March",
        "street": "Long Lane 4",
        "code": "12345",
        "email": "jo@example.org",
        "way": "bicycle",
        "date": "2027-02-28",
        "wrap": "yes",
    }
    v.equal(
        "summary",
        dict(zip([e.text for e in v.all("#summary th")], [e.text for e in v.all("#summary td")])),
        fields,
    )
    v.script("document.activeElement.blur()")
    v.keep("check", picture=True)
    v.equal("nothing sent yet", v.shop.received("POST", "/order"), [])
    v.find("#submit").click()
    v.wait("the receipt", lambda: v.all("#receipt"))
    v.equal("received", [dict(body) for body in v.shop.received("POST", "/order")], [fields])
    v.equal("receipt", v.text("#receipt"), "Your order is number 1.")
    v.keep("thanks")


def ajax_load(v):
    v.open("/reviews")
    for page in range(1, math.ceil(len(BOOKS) / REVIEWS_A_PAGE) + 1):
        v.find("#more").click()
        count = min(page * REVIEWS_A_PAGE, len(BOOKS))
        v.wait("page %d" % page, lambda: v.text("#state") == "%d of %d" % (count, len(BOOKS)))
    v.equal(
        "titles",
        [e.text for e in v.all("#list tbody td:nth-child(2)")],
        [b["title"] for b in BOOKS],
    )
    v.check("no more", not v.find("#more").is_enabled(), "the button can still be used")
    v.equal(
        "pages asked for", v.shop.count("/api/reviews", 200), math.ceil(len(BOOKS) / REVIEWS_A_PAGE)
    )
    v.find("#search").send_keys("the s")
    found = [b["title"] for b in BOOKS if "the s" in (b["title"] + " " + b["author"]).lower()]
    v.wait("the suggestions", lambda: v.text("#hits") == "%d found for “the s”" % len(found))
    v.equal("suggestions", [e.text for e in v.all("#suggestions li")], found)
    v.find("#text").send_keys("short")
    v.find("#post").click()
    v.wait("the refusal", lambda: v.text("#answer").startswith("422"))
    v.find("#text").send_keys(" but, on a second reading, not at all")
    v.find("#post").click()
    v.wait("the thanks", lambda: v.text("#answer").startswith("201"))
    v.equal("answer", v.text("#answer"), "201: thank you, 9 words")
    v.equal(
        "received",
        v.shop.received("POST", "/api/review"),
        [
            {"book": 7, "text": "short"},
            {"book": 7, "text": "short but, on a second reading, not at all"},
        ],
    )
    v.script("document.activeElement.blur(); scrollTo(0, 0)")
    v.keep("reviews", picture=True)


def nav_back_forward(v):
    def stop():
        return v.path(), v.text("main h1")

    def at(number, detail=""):
        return (
            "/tour/%d%s" % (number, "?detail=" + detail if detail else ""),
            "Through the shop, stop %d of 4" % number,
        )

    v.open("/tour/1")
    length = v.script("return history.length")
    for number in (2, 3):
        v.find("#onward").click()
        v.wait("stop %d" % number, lambda: stop() == at(number))
    for tab, text in (
        ("history", "Built as a sail loft, %d." % TOUR[3][3]),
        ("light", "North light, until four."),
    ):
        v.find("[data-tab=%s]" % tab).click()
        v.equal("detail " + tab, (stop(), v.text("#panel")), (at(3, tab), text))
    v.find("#onward").click()
    v.wait("stop 4", lambda: stop() == at(4))
    v.equal("positions", v.script("return history.length") - length, 5)
    v.keep("end")
    for where in (at(3, "light"), at(3, "history"), at(3), at(2), at(1)):
        v.driver.back()
        v.wait("back at " + where[0], lambda: stop() == where)
        v.equal(
            "panel at " + where[0],
            v.script("return document.getElementById('panel').dataset.tab"),
            where[0].partition("=")[2],
        )
    v.keep("start", picture=True)
    for where in (at(2), at(3)):
        v.driver.forward()
        v.wait("forward at " + where[0], lambda: stop() == where)
    v.script("setTimeout(() => history.go(-2))")
    v.wait("two back", lambda: stop() == at(1))
    v.script("setTimeout(() => history.go(4))")
    v.wait("four forward", lambda: stop() == at(3, "light"))
    v.equal("panel", v.text("#panel"), "North light, until four.")
    # a new way from the middle forgets what was ahead
    v.driver.back()
    v.wait("back at the history", lambda: stop() == at(3, "history"))
    v.find("#previous").click()
    v.wait("stop 2 again", lambda: stop() == at(2))
    v.driver.forward()
    v.equal("nothing ahead", stop(), at(2))
    v.equal("positions after the turn", v.script("return history.length") - length, 4)
    v.keep("turn", picture=True)


def refresh_page(v):
    v.open("/visits")
    for entry in ("What a cat.", "The ninth stair sings!"):
        v.find("#entry").send_keys(entry)
        v.find("#keep").click()
    v.find("#entry").send_keys("not kept")
    v.equal(
        "before", (v.text("#visits"), v.text("#shown"), len(v.all("#entries li"))), ("1", "1", 2)
    )
    v.keep("before")
    for n in range(2, 7):
        v.script("window.mark = 'of this document'")
        v.driver.refresh()
        v.wait(
            "a new document",
            lambda: v.script("return document.readyState === 'complete' && !window.mark"),
        )
        v.equal("visit %d" % n, (v.text("#visits"), v.text("#shown")), (str(n), str(n)))
    v.equal(
        "kept", [e.text for e in v.all("#entries li")], ["What a cat.", "The ninth stair sings!"]
    )
    v.equal("not kept", v.find("#entry").get_attribute("value"), "")
    v.equal("served", v.shop.count("/visits", 200), 6)
    v.check(
        "the style sheet is asked about, not sent again",
        v.shop.count("/style.css", 200) == 1 and v.shop.count("/style.css", 304) >= 1,
        "%d times sent, %d times not modified"
        % (v.shop.count("/style.css", 200), v.shop.count("/style.css", 304)),
    )
    v.keep("after", picture=True)


def exec_javascript(v):
    v.open("/stock")
    lent = [
        [(week * step + shelf * 11) % 23 + 4 for shelf, step in enumerate((7, 5, 3, 2))]
        for week in range(12)
    ]
    v.equal("data", v.script("return window.lent"), lent)
    rows = v.script("""
        const body = document.querySelector("#stock tbody");
        lent.forEach((row, week) => {
            const tr = body.insertRow();
            [week + 1, ...row, row.reduce((a, b) => a + b)].forEach((n, i) => {
                const td = tr.insertCell();
                td.textContent = n;
                if (i) td.className = "number";
            });
        });
        return body.rows.length;""")
    v.equal("rows made", rows, 12)
    v.equal(
        "sums",
        [int(e.text) for e in v.all("#stock tbody td:last-child")],
        [sum(row) for row in lent],
    )
    limit = 200000
    sieve = bytearray([1]) * limit
    for i in range(2, int(limit ** 0.5) + 1):
        if sieve[i]:
            sieve[i * i::i] = bytes(len(range(i * i, limit, i)))
    primes = [i for i in range(2, limit) if sieve[i]]
    v.equal("primes", v.script("""
        const n = arguments[0], out = new Uint8Array(n);
        let count = 0, last = 0;
        for (let i = 2; i < n; i++) { if (out[i]) continue; count++; last = i; for (let j = i * i; j < n; j += i) out[j] = 1; }
        report(count + " primes below " + n);
        return [count, last];""", limit), [len(primes), primes[-1]])
    titles = [b["title"] for b in BOOKS]
    words = {}
    for title in titles:
        for word in title.lower().replace(".", "").replace("'", "").split():
            words[word] = words.get(word, 0) + 1
    v.equal("words", v.script("""
        const count = new Map();
        for (const title of arguments[0])
            for (const word of title.toLowerCase().replace(/[.']/g, "").split(" ")) count.set(word, (count.get(word) || 0) + 1);
        report(count.size + " words");
        return Object.fromEntries(count);""",
            titles,
        ),
        words,
    )
    v.equal(
        "sorted",
        v.script("return arguments[0].sort((a, b) => a < b ? -1 : a > b ? 1 : 0)", titles),
        sorted(titles),
    )
    v.equal(
        "types",
        v.script("return [null, true, 0.5, 'x', [1, [2]], { a: { b: 3 } }, 1e21]"),
        [None, True, 0.5, "x", [1, [2]], {"a": {"b": 3}}, 1e21],
    )
    heading = v.script("return document.querySelector('h1')")
    v.equal("an element comes back", heading.text, "Stock")
    v.script("arguments[0].textContent = arguments[1]", heading, "Stock, counted")
    v.equal("an element goes in", v.text("h1"), "Stock, counted")
    v.equal("asynchronous", v.driver.execute_async_script("""
        const [n, done] = arguments, seen = [];
        (async () => {
            for (let i = 0; i < n; i++) seen.push(await new Promise(r => setTimeout(() => r(i * i), 1)));
            report("waited " + n + " times");
            done(seen);
        })();""", 12), [i * i for i in range(12)])
    try:
        v.script("undefinedFunction()")
        v.check("an exception arrives", False, "nothing was raised")
    except JavascriptException as error:
        v.check("an exception arrives", "undefinedFunction is not defined" in str(error), error)
    v.equal("a big one", len(v.script("return 'shelf '.repeat(arguments[0])", 100000)), 600000)
    v.keep("stock", picture=True)


def cookie_management(v):
    def names():
        return sorted(c["name"] for c in v.driver.get_cookies())

    v.open("/account")
    v.equal(
        "none at first", (names(), v.text("#who"), v.text("#seen")), ([], "a stranger", "(none)")
    )
    v.driver.add_cookie({"name": "basket", "value": "7-17-24", "path": "/"})
    v.driver.add_cookie({"name": "only-here", "value": "1", "path": "/catalogue"})
    v.find("#theme").click()
    v.driver.refresh()
    v.equal(
        "received", v.shop.received("GET", "/account")[-1], {"basket": "7-17-24", "theme": "dark"}
    )
    v.find("#reader").send_keys("ada")
    v.find("#login").click()
    v.wait("the greeting", lambda: v.text("#who") == "ada")
    v.equal("set by the server", names(), ["basket", "reader", "theme", "ticket"])
    ticket = v.driver.get_cookie("ticket")
    v.equal("the server's own", (ticket["value"], ticket["httpOnly"]), ("3333", True))
    v.equal(
        "the page sees no ticket",
        v.text("#seen").split("\n"),
        ["basket=7-17-24", "reader=ada", "theme=dark"],
    )
    v.keep("signed-in", picture=True)
    v.driver.delete_cookie("basket")
    v.find("#theme").click()
    v.open("/catalogue")
    v.equal(
        "by path",
        v.shop.received("GET", "/catalogue")[-1],
        {"only-here": "1", "reader": "ada", "theme": "light", "ticket": "3333"},
    )
    v.open("/account")
    v.equal(
        "deleted",
        v.shop.received("GET", "/account")[-1],
        {"reader": "ada", "theme": "light", "ticket": "3333"},
    )
    v.find("#logout").click()
    v.wait("the farewell", lambda: v.text("#who") == "a stranger")
    v.equal("signed out", names(), ["theme"])
    v.driver.delete_all_cookies()
    v.driver.refresh()
    v.equal(
        "all deleted",
        (names(), v.shop.received("GET", "/account")[-1], v.text("#seen")),
        ([], {}, "(none)"),
    )
    v.keep("end", picture=True)


def drag_drop(v):
    v.open("/board")

    def columns():
        return {
            column: [e.get_attribute("id") for e in v.all("#%s .card" % column)]
            for column in ("waiting", "bench", "ready")
        }

    v.equal(
        "before", columns(), {"waiting": ["atlas", "fables", "herbal"], "bench": [], "ready": []}
    )
    for card, column in (("fables", "bench"), ("atlas", "bench"), ("fables", "ready")):
        ActionChains(v.driver, duration=60).click_and_hold(v.find("#" + card)).move_by_offset(
            20, 10
        ).perform()
        # as a hand does, to and fro: the first move over an element is its dragenter, and only
        # after a dragover may one drop
        places = itertools.cycle((0, 4, 8))

        def over():
            ActionChains(v.driver, duration=60).move_to_element_with_offset(
                v.find("#" + column), next(places), 0
            ).perform()
            return v.all("#%s.over" % column)

        v.wait("the drag over " + column, over)
        ActionChains(v.driver).release().perform()
        v.wait("%s in %s" % (card, column), lambda: card in columns()[column])
    v.equal("after", columns(), {"waiting": ["herbal"], "bench": ["atlas"], "ready": ["fables"]})
    jaw = v.find("#jaw")
    ActionChains(v.driver).click_and_hold(jaw).move_by_offset(100, 0).move_by_offset(
        140, 3
    ).release().perform()
    v.wait("the clamp", lambda: "clamp at 240" in v.text("#moves"))
    v.equal(
        "moves",
        v.text("#moves").split("\n"),
        ["fables → bench", "atlas → bench", "fables → ready", "clamp at 240"],
    )
    box = v.script(
        "const b = document.getElementById('jaw').getBoundingClientRect(); return [b.x + b.width /"
        " 2, b.y + b.height / 2]"
    )
    ActionChains(v.driver).move_to_element(v.find("h1")).perform()
    shot = v.keep("board", picture=True)
    v.equal("the clamp is drawn there", shot.at(*box), (224, 160, 48))


def handle_alert(v):
    def shown():
        try:
            return v.driver.switch_to.alert
        except NoAlertPresentException:
            return None

    def dialog():
        return v.wait("a dialog", shown)

    v.open("/list")
    v.find("#about").click()
    alert = dialog()
    v.equal("alert", alert.text, "Reading lists stay in this tab.")
    alert.accept()
    v.find("#rename").click()
    alert = dialog()
    v.equal("prompt", alert.text, "What shall the list be called?")
    alert.send_keys("Rainy Sundays")
    alert.accept()
    v.equal("renamed", v.text("#listname"), "Rainy Sundays")
    v.find("#rename").click()
    dialog().dismiss()
    v.equal("not renamed", v.text("#listname"), "Rainy Sundays")
    v.find("#clear").click()
    alert = dialog()
    v.equal("confirm", alert.text, "Really forget all 4 books?")
    alert.dismiss()
    v.equal("not emptied", len(v.all("#books li")), 4)
    v.keep("kept", picture=True)
    v.find("#clear").click()
    dialog().accept()
    v.equal("emptied", len(v.all("#books li")), 0)
    v.find("#later").click()
    alert = dialog()
    v.equal("late alert", alert.text, "Time to read!")
    alert.accept()
    v.equal(
        "what happened",
        v.text("#happened").split("\n"),
        [
            "alert closed",
            'prompt gave "Rainy Sundays"',
            "prompt gave null",
            "confirm gave false",
            "confirm gave true",
            "reminded",
        ],
    )
    v.keep("end", picture=True)


def take_screenshot(v):
    v.open("/poster")
    shot = v.keep("poster", picture=True)
    v.equal("size", [shot.width, shot.height], v.script("return [innerWidth, innerHeight]"))
    left, top = v.script(
        "const b = document.getElementById('flags').getBoundingClientRect(); return [b.x, b.y]"
    )
    blue, white, red, yellow, black = (
        (0, 56, 168),
        (255, 255, 255),
        (206, 17, 38),
        (255, 215, 0),
        (0, 0, 0),
    )
    # flag, its points in it, and the colours there
    expected = (
        (
            "c",
            10,
            20,
            ((60, 9, blue), (60, 27, white), (60, 45, red), (60, 63, white), (60, 81, blue)),
        ),
        ("d", 140, 120, ((5, 15, yellow), (60, 45, blue), (115, 75, yellow))),
        ("e", 270, 20, ((60, 20, blue), (60, 70, red))),
        ("g", 400, 120, tuple((10 + 20 * i, 45, (yellow, blue)[i % 2]) for i in range(6))),
        ("h", 530, 20, ((30, 45, white), (90, 45, red))),
        ("l", 660, 120, ((30, 20, yellow), (90, 20, black), (30, 70, black), (90, 70, yellow))),
    )
    for name, x, y, points in expected:
        v.equal(
            "flag " + name,
            [shot.at(left + x + px, top + y + py) for px, py, _ in points],
            [colour for _, _, colour in points],
        )
    small = v.picture("flag", v.find("#flag-l").screenshot_as_png)
    v.equal(
        "of one element",
        (small.width, small.height, small.at(2, 2), small.at(117, 2)),
        (120, 90, yellow, black),
    )
    whole = v.picture(
        "whole",
        base64.b64decode(
            v.driver.execute_cdp_cmd(
                "Page.captureScreenshot",
                {
                    "format": "png",
                    "captureBeyondViewport": True,
                    "clip": dict(
                        zip(
                            ("x", "y", "width", "height"),
                            (
                                0,
                                0,
                                *v.script(
                                    "const e = document.documentElement; return [e.clientWidth,"
                                    " e.scrollHeight]"
                                ),
                            ),
                        ),
                        scale=1,
                    ),
                },
            )["data"]
        ),
    )
    v.check(
        "the whole page",
        whole.height > shot.height,
        "%d lines, the window has %d" % (whole.height, shot.height),
    )
    x, y, width = v.script(
        "const b = document.getElementById('sunset').getBoundingClientRect(); return [b.x, b.y,"
        " b.width]"
    )
    for part, name in ((0.0, "left"), (0.5, "middle"), (1.0, "right")):
        want = [a + (b - a) * part for a, b in zip((255, 160, 48), (15, 94, 120))]
        got = whole.at(x + min(width * part, width - 1), y + 30)
        v.check(
            "sunset, " + name,
            all(abs(g - w) <= 3 for g, w in zip(got, want)),
            "%r, expected about %r" % (got, want),
        )


def webgl_2d(v):
    width, height, lights, frames = 420, 320, 40, 90
    palette = [
        (224, 160, 48),
        (15, 94, 120),
        (179, 38, 30),
        (27, 127, 75),
        (240, 240, 220),
        (120, 80, 160),
    ]

    def bounce(start, speed, room):
        x = (start + speed * frames) % (2 * room)
        return x if x < room else 2 * room - x

    circles = []
    for i in range(lights):
        r = 10 + i * 7 % 17
        circles.append(
            (
                r + bounce(i * 53, 1 + i % 4, width - 2 * r),
                r + bounce(i * 31, 1 + i % 3, height - 2 * r),
                r,
                palette[i % len(palette)],
            )
        )

    def drawn(x, y):
        """What is on top at a point; None at an edge, where one may round this way or that."""
        top = INK
        for cx, cy, r, colour in circles:
            away = math.hypot(cx - x - 0.5, cy - y - 0.5)
            if abs(away - r) < 2:
                top = None
            elif away < r:
                top = colour
        return top

    v.open("/lights")
    v.equal("WebGL", v.script("return document.body.dataset.webgl"), "yes")
    v.wait("the last frame", lambda: v.script("return document.body.dataset.done") == "yes")
    v.equal("frames", v.text("#state"), "frame %d" % frames)
    shot = v.keep("lights", picture=True)
    for canvas in ("gl", "flat"):
        left, top = v.script(
            (
                "const b = document.getElementById(arguments[0]).getBoundingClientRect(); return"
                " [b.x, b.y]"
            ),
            canvas,
        )
        points = [(cx, cy) for cx, cy, _, _ in circles] + [
            (x, y) for x in range(5, width, 37) for y in range(5, height, 29)
        ]
        known = [(x, y, drawn(x, y)) for x, y in points if drawn(x, y) is not None]
        wrong = [
            (x, y, shot.at(left + x, top + y), colour)
            for x, y, colour in known
            if shot.at(left + x, top + y) != colour
        ]
        v.check(
            "pixels of " + canvas,
            not wrong and len(known) > 100,
            "%d of %d differ, first (x, y, got, expected) %r" % (len(wrong), len(known), wrong[:1]),
        )
        on = sum(1 for _, _, colour in known if colour != INK)
        v.check("circles of " + canvas, on >= 30, "only %d points are on a circle" % on)


def ledger_sum(n):
    """What 128 · 1024 numbers ((i · 31 + 17 n) mod 1000 + 0.5) add up to; 31 and 1000 have no
    common divisor."""
    lines = 128 * 1024
    return (
        lines // 1000 * 499500
        + sum((i * 31 + n * 17) % 1000 for i in range(lines % 1000))
        + lines * 0.5
    )


def memory_stress(v):
    v.open("/archive")
    base = v.heap()
    for mib in v.levels:
        result = v.script("return fill(arguments[0], 3)", mib)
        expected = {
            "sum": sum(map(ledger_sum, range(mib))) + 2 * sum(range(mib >> 1)),
            "turned": mib * 200 * 3 * 6,
            "lines": mib * 20,
        }
        v.equal("%d MiB: work done" % mib, result, expected)
        grown = v.heap() - base
        v.check(
            "%d MiB: really held" % mib,
            mib << 20 <= grown <= (mib << 20) * 2,
            "the heap grew by %d bytes" % grown,
        )
        if mib == v.levels[-1]:
            v.keep("full", picture=True)
        v.script("forget()")
        left = v.heap() - base
        v.check(
            "%d MiB: forgotten" % mib,
            left < (mib << 20) / 4 + (4 << 20),
            "%d bytes are left" % left,
        )
    v.keep("end")


SCENARIOS = {
    "OPENHOMEPAGE": open_home_page,
    "CLICKLINK": click_link,
    "FILLFORM": fill_form,
    "MULTISTEPFORM": multi_step_form,
    "AJAXLOAD": ajax_load,
    "NAVBACKFWD": nav_back_forward,
    "REFRESHPAGE": refresh_page,
    "EXECJAVASCRIPT": exec_javascript,
    "COOKIEMANAGEMENT": cookie_management,
    "DRAGDROP": drag_drop,
    "HANDLEALERT": handle_alert,
    "TAKESS": take_screenshot,
    "WEBGL2D": webgl_2d,
    "MEMSTRESS": memory_stress,
}
