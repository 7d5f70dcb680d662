# SPDX-License-Identifier: Apache-2.0
"""The web site that the scenarios visit: a small book shop, served from pages/ on a loopback port
of its own.

It answers the same thing to the same requests, whatever the hour: no dates, no random numbers, no
port in any page. What it received it keeps, so that a scenario can compare what the page says that
it sent with what arrived.
"""
import hashlib
import html
import http.server
import json
import os
import string
import threading
import urllib.parse

PAGES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pages")

with open(os.path.join(PAGES, "books.json"), encoding="utf-8") as _file:
    BOOKS = [
        dict(
            zip(("title", "author", "year", "pages", "shelf", "colour", "blurb"), row),
            id=i + 1,
            stars=2 + i * 7 % 4,
        )
        for i, row in enumerate(json.load(_file))
    ]

NAVIGATION = (
    ("/", "Shop"),
    ("/catalogue", "Catalogue"),
    ("/reviews", "Reviews"),
    ("/order", "Order"),
    ("/register", "Reader's card"),
    ("/account", "Account"),
    ("/tour/1", "Tour"),
    ("/visits", "Guest book"),
    ("/board", "Workshop"),
)

TOUR = {1: ("The door", "#0f5e78", "A bell on a spring, and a mat that says so.", 1871, 2),
        2: ("The sea room", "#38889c", "Everything with a sail in it.", 1874, 14),
        3: ("The stairs", "#8a5a2b", "Seventeen steps; the ninth one knows a song.", 1880, 0),
        4: ("The reading room", "#1b7f4b", "Six lamps, six chairs, one cat.", 1902, 9)}

REVIEWS_A_PAGE = 8


def card(book):
    return (
        '<div class="card"><div class="cover" style="background: %s">%s</div><h3><a'
        ' href="/book/%d">%s</a></h3><p>%s, %d</p></div>'
        % (
            book["colour"],
            html.escape(book["title"]),
            book["id"],
            html.escape(book["title"]),
            html.escape(book["author"]),
            book["year"],
        )
    )


def table_rows(pairs):
    return "\n".join(
        "<tr><th>%s</th><td>%s</td></tr>" % (html.escape(k), html.escape(v)) for k, v in pairs
    )


def checked_order(fields):
    """What is wrong with an order: the page checks too, but a server doesn't believe a page."""
    one = {k: v for k, v in fields}
    wrong = []
    if not (one.get("book", "").isdigit() and 1 <= int(one["book"]) <= len(BOOKS)):
        wrong.append("book")
    if not one.get("copies", "").isdigit():
        wrong.append("copies")
    wrong += [
        name for name in ("name", "street", "code", "email", "way", "date") if not one.get(name)
    ]
    return wrong


class Shop(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.requests = []  # (method, path with query, fields or JSON)
        self.statuses = []  # (path, status)
        self.visits = 0
        self.origin = "http://127.0.0.1:%d" % self.server_address[1]
        threading.Thread(
            target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        ).start()

    def received(self, method, path):
        """The bodies of the requests with this method and path, in order."""
        with self.lock:
            return [body for m, p, body in self.requests if m == method and p.split("?")[0] == path]

    def count(self, path, status=None):
        with self.lock:
            return sum(
                1 for p, s in self.statuses if p.split("?")[0] == path and status in (None, s)
            )

    def close(self):
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # header and body are two writes

    def log_message(self, *_):
        pass

    # ---- answers ----
    def answer(self, body, kind="text/html; charset=utf-8", status=200, headers=()):
        data = body if isinstance(body, bytes) else body.encode()
        with self.server.lock:
            self.server.statuses.append((self.path, status))
        self.send_response_only(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def json(self, value, status=200):
        self.answer(json.dumps(value), "application/json", status)

    def page(self, name, status=200, headers=(), **values):
        with open(os.path.join(PAGES, name + ".html"), encoding="utf-8") as file:
            title, main = file.read().split("\n", 1)
        title = string.Template(title.removeprefix("<!-- title: ").removesuffix(" -->")).substitute(
            values
        )
        here = urllib.parse.urlsplit(self.path).path
        links = "".join(
            '<a href="%s"%s>%s</a>'
            % (path, ' aria-current="page"' if path == here else "", html.escape(text))
            for path, text in NAVIGATION
        )
        with open(os.path.join(PAGES, "layout.html"), encoding="utf-8") as file:
            layout = string.Template(file.read())
        whole = layout.substitute(
            title=html.escape(title),
            navigation=links,
            main=string.Template(main).substitute(values),
        )
        self.answer(whole, status=status, headers=(("Cache-Control", "no-cache"), *headers))

    def style(self):
        with open(os.path.join(PAGES, "style.css"), "rb") as file:
            data = file.read()
        tag = '"%s"' % hashlib.sha256(data).hexdigest()[:16]
        if self.headers.get("If-None-Match") == tag:
            self.answer(b"", "text/css", 304, (("ETag", tag),))
        else:
            self.answer(data, "text/css", 200, (("ETag", tag), ("Cache-Control", "no-cache")))

    def cookies(self):
        pairs = [
            part.split("=", 1)
            for part in (self.headers.get("Cookie") or "").split("; ")
            if "=" in part
        ]
        return sorted((k, v) for k, v in pairs)

    # ---- requests ----
    def do_GET(self):
        with self.server.lock:
            self.server.requests.append(("GET", self.path, dict(self.cookies())))
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        parts = url.path.strip("/").split("/")
        plain = {
            "/register": "register",
            "/reviews": "reviews",
            "/stock": "lab",
            "/board": "board",
            "/list": "alerts",
            "/poster": "poster",
            "/lights": "circles",
            "/archive": "stress",
        }
        if url.path == "/":
            self.page("home", front="".join(map(card, BOOKS[:12])))
        elif url.path in plain:
            self.page(plain[url.path])
        elif url.path == "/style.css":
            self.style()
        elif url.path == "/catalogue":
            self.page(
                "catalogue",
                count=len(BOOKS),
                rows="\n".join(
                    '<tr><td><a'
                    ' href="/book/%(id)d">%(title)s</a></td><td>%(author)s</td><td>%(shelf)s</td><td'
                    ' class="number">%(year)d</td><td class="number">%(pages)d</td></tr>'
                    % {k: html.escape(v) if isinstance(v, str) else v for k, v in book.items()}
                    for book in BOOKS
                ),
            )
        elif parts[0] == "book" and parts[-1].isdigit() and 1 <= int(parts[-1]) <= len(BOOKS):
            book = BOOKS[int(parts[-1]) - 1]
            shelf = [b for b in BOOKS if b["shelf"] == book["shelf"]]
            values = {k: html.escape(v) if isinstance(v, str) else v for k, v in book.items()}
            self.page("book", next=shelf[(shelf.index(book) + 1) % len(shelf)]["id"],
                      neighbours="".join(card(b) for b in shelf if b is not book), **values)
        elif url.path == "/order":
            self.page("order", count=len(BOOKS))
        elif url.path == "/visits":
            self.server.visits += 1
            self.page("visits", visits=self.server.visits)
        elif url.path == "/account":
            cookies = self.cookies()
            self.page(
                "account",
                who=html.escape(dict(cookies).get("reader", "a stranger")),
                rows=table_rows(cookies),
            )
        elif parts[0] == "tour" and parts[-1] in "1234":
            stop = int(parts[-1])
            place, colour, words, year, shelves = TOUR[stop]
            links = "".join(
                '<a class="button" id="%s" href="/tour/%d">%s</a>' % (name, to, name.capitalize())
                for name, to in (("previous", stop - 1), ("onward", stop + 1))
                if to in TOUR
            )
            self.page(
                "tour",
                stop=stop,
                place=place,
                colour=colour,
                words=words,
                year=year,
                shelves=shelves,
                links=links,
            )
        elif url.path == "/api/reviews":
            first = int(query.get("page", 0)) * REVIEWS_A_PAGE
            self.json({"total": len(BOOKS), "books": BOOKS[first:first + REVIEWS_A_PAGE]})
        elif url.path == "/api/search":
            asked = query.get("q", "").lower()
            self.json(
                [
                    b["title"]
                    for b in BOOKS
                    if asked and asked in (b["title"] + " " + b["author"]).lower()
                ]
            )
        else:
            self.answer("no such page", "text/plain", 404)

    def do_POST(self):
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        is_json = (self.headers.get("Content-Type") or "").startswith("application/json")
        body = json.loads(data) if is_json else urllib.parse.parse_qsl(data, keep_blank_values=True)
        with self.server.lock:
            self.server.requests.append(("POST", self.path, body))
        if self.path == "/register":
            number = sum(map(ord, dict(body).get("email", ""))) % 10000
            self.page("thanks", receipt="Your card number is %04d." % number, rows=table_rows(body))
        elif self.path == "/order":
            wrong = checked_order(body)
            self.page(
                "thanks",
                400 if wrong else 200,
                receipt="Not accepted: " + ", ".join(wrong) if wrong else "Your order is number 1.",
                rows=table_rows(body),
            )
        elif self.path == "/api/review":
            if len(body.get("text", "")) < 10:
                self.json({"message": "that is too short to be a review"}, 422)
            else:
                self.json({"message": "thank you, %d words" % len(body["text"].split())}, 201)
        elif self.path == "/login":
            reader = dict(body).get("reader", "")
            self.answer(
                "",
                status=303,
                headers=(
                    ("Location", "/account"),
                    ("Set-Cookie", "reader=%s; Path=/; SameSite=Lax" % reader),
                    ("Set-Cookie", "ticket=%d; Path=/; HttpOnly" % (len(reader) * 1111)),
                ),
            )
        elif self.path == "/logout":
            self.answer(
                "",
                status=303,
                headers=(
                    ("Location", "/account"),
                    ("Set-Cookie", "reader=; Path=/; Max-Age=0"),
                    ("Set-Cookie", "ticket=; Path=/; Max-Age=0; HttpOnly"),
                ),
            )
        else:
            self.answer("no such page", "text/plain", 404)
