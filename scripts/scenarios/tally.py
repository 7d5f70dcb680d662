# SPDX-License-Identifier: Apache-2.0
"""What a session says about a run, by process role, from its public views; and the table of many of
them."""
import os
import sqlite3

NUMBERS = ("processes", "allocs", "frees", "bytes", "live", "live_bytes", "lost")
DISTINCT = ("types", "labels", "sites")

# A role is what the command line says (browser, renderer, ...); a program without one goes by its
# name.
ROLE = "COALESCE(NULLIF(p.role, ''), p.name)"
SUMS = (
    """SELECT %s AS role, COUNT(*) AS processes, SUM(allocs) AS allocs, SUM(frees) AS frees, SUM(bytes) AS bytes, SUM(live) AS live,
	SUM(live_bytes) AS live_bytes, SUM(lost) AS lost FROM v_processes p GROUP BY 1 ORDER BY allocs DESC"""
    % ROLE
)
# different names of types, and different labels: what a class whose name the file doesn't have is
# called instead, the same in every run
TYPES = """SELECT %s, COUNT(DISTINCT t.type) FROM v_process_types t JOIN v_processes p ON p.process = t.process
	WHERE t.allocs > 0 AND t.confidence <> 'label' GROUP BY 1"""
LABELS = TYPES.replace("<>", "=")
SITES = (
    "SELECT %s, COUNT(DISTINCT s.site) FROM v_site_types s JOIN v_processes p ON p.process ="
    " s.process WHERE s.allocs > 0 GROUP BY 1"
)


def read(path):
    """{"roles": [...], "all": {...}, "losses": {name: count}, "problems": [...]} of a finished
    session."""
    problems = []
    if not os.path.exists(path):
        return {"roles": [], "all": None, "losses": {}, "problems": ["there is no session"]}
    db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    db.row_factory = sqlite3.Row
    try:
        facts = dict(map(tuple, db.execute("SELECT key, value FROM v_session")))
        if facts.get("complete") != 1:
            problems.append("the session is not complete")
        roles = [dict(row) for row in db.execute(SUMS)]
        for query, name in ((TYPES, "types"), (LABELS, "labels"), (SITES, "sites")):
            found = dict(map(tuple, db.execute(query % ROLE)))
            whole = db.execute(query % "'all'").fetchone()
            for row in roles:
                row[name] = found.get(row["role"], 0)
            facts[name] = whole[1] if whole else 0
        total = {name: sum(row[name] for row in roles) for name in NUMBERS}
        total.update({name: facts[name] for name in DISTINCT})
        losses = {
            name: count
            for name, count in db.execute("SELECT name, SUM(count) FROM v_losses GROUP BY name")
        }
        total["lost"] = sum(losses.values())  # with what belongs to no process
        unequal = db.execute(
            "SELECT COUNT(*) FROM v_processes WHERE allocs + inherited_frees <> frees + live +"
            " abandoned"
        ).fetchone()[0]
        if unequal:
            problems.append("the books of %d processes don't balance" % unequal)
        for role in ("browser", "renderer", "zygote"):
            if not any(row["role"].split(":")[0] == role and row["allocs"] for row in roles):
                problems.append("no allocation of a %s" % role)
        bad = db.execute(
            "SELECT COUNT(*) FROM v_processes WHERE executable LIKE '%/chromium' AND attach <>"
            " 'partition_alloc'"
        )
        bad = bad.fetchone()[0]
        if bad:
            problems.append("%d processes of Chromium were not attached to" % bad)
    except sqlite3.Error as error:
        return {
            "roles": [],
            "all": None,
            "losses": {},
            "problems": problems + ["the session cannot be read: %s" % error],
        }
    finally:
        db.close()
    return {"roles": roles, "all": total, "losses": losses, "problems": problems}


def human(size):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1000 or unit == "GiB":
            return "%d B" % size if unit == "B" else "%.3g %s" % (size, unit)
        size /= 1024
    return ""


COLUMNS = (
    ("scenario", "<"),
    ("process", "<"),
    ("n", ">"),
    ("allocs", ">"),
    ("frees", ">"),
    ("bytes", ">"),
    ("live", ">"),
    ("live bytes", ">"),
    ("types", ">"),
    ("labels", ">"),
    ("sites", ">"),
    ("lost", ">"),
)


def cells(scenario, row):
    return (
        scenario,
        row["role"],
        "%d" % row["processes"],
        "{:,}".format(row["allocs"]),
        "{:,}".format(row["frees"]),
        human(row["bytes"]),
        "{:,}".format(row["live"]),
        human(row["live_bytes"]),
        "{:,}".format(row["types"]),
        "{:,}".format(row["labels"]),
        "{:,}".format(row["sites"]),
        "{:,}".format(row["lost"]),
    )


def aligned(columns, lines):
    """Lines of cells as a table; None is an empty line."""
    widths = [
        max(len(name), *(len(line[i]) for line in lines if line))
        for i, (name, _) in enumerate(columns)
    ]
    out = [
        "  ".join(
            format(name, "%s%d" % (way, width)) for (name, way), width in zip(columns, widths)
        ).rstrip()
    ]
    for line in lines:
        row = (
            format(text, "%s%d" % (way, width))
            for text, (_, way), width in zip(line or (), columns, widths)
        )
        out.append("  ".join(row).rstrip())
    return "\n".join(out)


def table(scenarios):
    """scenarios: (name, what read() gave) in order."""
    lines = []
    for name, found in scenarios:
        if not found or not found["all"]:
            continue
        lines += [None] if lines else []
        lines += [cells(name if i == 0 else "", row) for i, row in enumerate(found["roles"])]
        lines.append(cells("", dict(found["all"], role="all")))
    return aligned(COLUMNS, lines) if lines else "nothing was recorded"
