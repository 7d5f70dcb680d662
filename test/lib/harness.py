# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: running programs bare and recorded, reading sessions, reporting
cases.

A test prints `ok NAME`, `not ok NAME: why` or `skip NAME: why`, one line a case, and exits 0, 1 or
77 (nothing could be tested).
"""
import functools
import glob
import hashlib
import json
import marshal
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
O = os.path.abspath(os.environ.get("O", os.path.join(ROOT, "build")))
LIB = os.path.join(O, "libshiny.so")
CTL = os.path.join(O, "shinyctl")
LONG = os.environ.get("SHINY_TEST_LONG") == "1"
PATIENCE = 240  # seconds; only how long what hangs holds up a test


def temporary():
    """An empty directory of this test's own; test/run removes it after a success."""
    path = os.environ.get("SHINY_TEST_TMP") or os.path.join("/tmp", "shiny-test-%d" % os.getpid())
    os.makedirs(path, exist_ok=True)
    return os.path.abspath(path)


TMP = temporary()


def is_sanitized():
    with open(CTL, "rb") as file:
        return b"__asan_version_mismatch_check" in file.read()


def commit_id():
    """The checkout's commit, for tables that are kept; "unknown" without git."""
    try:
        told = subprocess.run(
            ["git", "-C", ROOT, "log", "-1", "--format=%h"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return "unknown"
    return told.stdout.decode().strip() or "unknown"


def questions():
    """ID -> the words of the command, of each question that an option asks of a session's verb
    (SHINY_BODY in src/ctl/verbs.def). The option of some needs a value behind them."""
    with open(os.path.join(ROOT, "src/ctl/verbs.def")) as file:
        rows = re.findall(r'^SHINY_BODY\((\w+), \w+, (\w+), "\w+", SESSION\)', file.read(), re.M)
    return {option: [verb.lower(), "--" + option.lower()] for option, verb in rows}


# ---- cases ----
@functools.lru_cache(None)
def schema_module():
    """fastjsonschema, None where it is not installed. Most tests need none of it, and to load it
    takes as long as to start Python."""
    for path in ([], ["/usr/lib/python3/dist-packages"]):  # Debian's, for another interpreter
        sys.path.extend(path)
        try:
            import fastjsonschema

            return fastjsonschema
        except ImportError:
            pass
    return None


_schemas = {}


def schema_of(verb):
    """What checks a verb's document; None: it has no schema. To make its code takes a tenth of a
    second: it is kept in $O/test/compiled."""
    told = run([CTL, "help", verb, "--schema"])
    if told.status:
        return None
    module = schema_module()
    key = hashlib.sha256(repr((told.out, module.VERSION, sys.version)).encode()).hexdigest()
    kept, names = os.path.join(O, "test/compiled", key), {}
    try:
        with open(kept, "rb") as file:
            code = marshal.load(file)
        os.utime(kept)
    except (OSError, EOFError, ValueError, TypeError):
        code = compile(module.compile_to_code(json.loads(told.out)), verb, "exec")
        os.makedirs(os.path.dirname(kept), exist_ok=True)
        with open("%s.%d" % (kept, os.getpid()), "wb") as file:
            marshal.dump(code, file)
        os.replace(file.name, kept)
    exec(code, names)
    return names["validate"]


def against_schema(document):
    """Where a verb's document breaks the schema that `shinyctl help VERB --schema` prints; empty:
    nowhere, or there is no schema of that verb."""
    verb, fastjsonschema = document.get("verb"), schema_module()
    if not fastjsonschema or not verb:
        return ""
    if verb not in _schemas:
        with open(os.path.join(ROOT, "src/ctl/retired.def")) as file:
            moved = re.search(r'^SHINY_RETIRED\(%s, "(\w+)' % verb, file.read(), re.M)
        _schemas[verb] = schema_of(moved.group(1) if moved else verb)
    try:
        if _schemas[verb]:
            _schemas[verb](document)
    except fastjsonschema.JsonSchemaException as error:
        return str(error)
    return ""


class Cases:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def check(self, name, good, why=""):
        if good:
            self.passed += 1
            print("ok %s" % name, flush=True)
        else:
            self.failed += 1
            print("not ok %s: %s" % (name, why() if callable(why) else why), flush=True)
        return bool(good)

    def equal(self, name, got, expected):
        return self.check(
            name, got == expected, "got %s, expected %s" % (short(got), short(expected))
        )

    def ask(self, *arguments, timeout=240):
        """The JSON document of a verb. Its case has the name of the verb, its options and its
        files."""
        answer = run([CTL, *arguments, "--json"], timeout=timeout)
        self.equal(
            "%s/status" % " ".join(text.replace(TMP + "/", "") for text in arguments),
            answer.status,
            0,
        )
        if answer.status:
            print("# %s" % short(answer.err))
        document = json.loads(answer.out or "{}")
        if document:
            self.check("%s/schema" % arguments[0], not (wrong := against_schema(document)), wrong)
        return document

    def skip(self, name, why):
        self.skipped += 1
        print("skip %s: %s" % (name, why), flush=True)

    def finish(self):
        if self.failed:
            sys.exit(1)
        if not self.passed:
            print("every case was skipped" if self.skipped else "no case was run")
            sys.exit(77 if self.skipped else 1)
        sys.exit(0)


def short(value, limit=300):
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= limit else text[:limit] + "…"


def skip_all(why):
    print(why)
    sys.exit(77)


def no_terminal():
    """Why no pseudo-terminal can be had here, as in a root without /dev/pts; "" if one can."""
    try:
        for end in os.openpty():
            os.close(end)
    except OSError as error:
        return "no pseudo-terminal can be opened (%s): mount devpts on /dev/pts" % error.strerror
    return ""


# ---- running ----
class Result:
    def __init__(self, out, err, status, seconds, pid):
        self.out, self.err, self.status, self.seconds, self.pid = out, err, status, seconds, pid


def environment(extra=None):
    clean = {
        k: v for k, v in os.environ.items() if not k.startswith("SHINY_") and k != "LD_PRELOAD"
    }
    clean.update(extra or {})
    return clean


class User:
    """An ordinary user, for tests that root runs: nobody, with directories of its own below
    `directory`."""
    name, uid = "nobody", 65534

    def __init__(self, directory):
        self.directory = directory
        self.environment = {
            "HOME": os.path.join(directory, "home"),
            "XDG_RUNTIME_DIR": os.path.join(directory, "run"),
            "XDG_CACHE_HOME": os.path.join(directory, "cache"),
            "USER": self.name,
            "LOGNAME": self.name,
        }
        for path in (
            directory,
            *(self.environment[name] for name in ("HOME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME")),
        ):
            os.makedirs(path, mode=0o700, exist_ok=True)
            os.chown(path, self.uid, self.uid)

    def cannot(self):
        """Why this user cannot run what was built; "" if it can."""
        seen = subprocess.run(["test", "-x", CTL, "-a", "-w", self.directory], **self.popen())
        return (
            ""
            if seen.returncode == 0
            else "user %s may not enter %s or %s" % (self.name, O, self.directory)
        )

    def popen(self):
        return {"user": self.uid, "group": self.uid, "extra_groups": []}


def header_at(field):
    """Where a ring's header has the field, bytes."""
    with open(os.path.join(ROOT, "include/shiny/wire/offsets.def")) as offsets:
        return int(re.search(r"\(header, %s, (\d+)\)" % field, offsets.read()).group(1))


def run(command, env=None, timeout=240, cwd=None, data=b"", user=None):
    """Runs a command to its end, as a User where one is given. A time-out ends its whole process
    group and is a failed test, never a success."""
    began = time.monotonic()
    settings = environment({**user.environment, **(env or {})} if user else env)
    process = subprocess.Popen(
        command,
        env=settings,
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        **(user.popen() if user else {})
    )
    try:
        out, err = process.communicate(data, timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        print(
            "not ok run: %s took over %d s; it printed %s"
            % (short(" ".join(command)), timeout, short(err.decode(errors="replace")))
        )
        sys.exit(1)
    return Result(
        out, err.decode(errors="replace"), process.returncode, time.monotonic() - began, process.pid
    )


@functools.lru_cache(None)
def compilers_world():
    """What a compilation depends on beside its command and the files named there: what is
    installed, and the headers here."""
    told = hashlib.sha256()
    if os.path.exists("/var/lib/dpkg/status"):
        told.update(repr(os.stat("/var/lib/dpkg/status").st_mtime_ns).encode())
    for top in ("include", "test"):
        for directory, below, names in os.walk(os.path.join(ROOT, top)):
            below.sort()
            for name in sorted(names):
                if name.endswith((".h", ".def", ".inc")):
                    with open(os.path.join(directory, name), "rb") as file:
                        told.update(file.read() + b"\0")
    return told.digest()


def compiled(command, output, cwd=None):
    """As run() of a compiler or linker that writes the file `output`, and none beside it. What a
    command has made of files of the same content is kept in $O/test/compiled, and taken from
    there, as long as it is one of the last 600."""
    words = [shutil.which(command[0]) or command[0], *command[1:]]
    # two tests that make the same thing, each in its directory, share it; a .dwo file is named
    # after the output
    shared = [word for word in words if word != output or "-gsplit-dwarf" in words]
    key = hashlib.sha256(compilers_world() + repr((shared, cwd)).encode())
    if os.path.exists(words[0]):
        tool = os.stat(words[0])
        key.update(repr((tool.st_size, tool.st_mtime_ns)).encode())
    for word in words[1:]:
        path = os.path.join(cwd or ".", re.sub("^-.*=", "", word))
        if os.path.isfile(path) and not (os.path.exists(output) and os.path.samefile(path, output)):
            with open(path, "rb") as file:
                key.update(file.read() + b"\0")
    shelf = os.path.join(O, "test/compiled")
    kept, target = os.path.join(shelf, key.hexdigest()), os.path.join(cwd or ".", output)
    try:
        shutil.copy2(kept, target)
        os.utime(kept)
        return Result(b"", "", 0, 0, 0)
    except OSError:
        pass
    made = run(words, cwd=cwd, timeout=900)
    if made.status == 0 and not made.out and not made.err:
        os.makedirs(shelf, exist_ok=True)
        shutil.copy2(target, "%s.%d" % (kept, os.getpid()))
        os.replace("%s.%d" % (kept, os.getpid()), kept)
        by_age = sorted(glob.glob(shelf + "/*"), key=lambda path: -os.lstat(path).st_mtime)
        for old in by_age[600:]:
            os.unlink(old)
    return made


def as_shell(status):
    """An exit status as a shell, and `shinyctl run`, gives it."""
    return 128 - status if status < 0 else status


def remove_session(path):
    for name in (path, path + "-wal", path + "-shm", path + "-journal"):
        if os.path.exists(name):
            os.unlink(name)


def is_complete(path):
    """An empty log is left by a reader that had the file open at the end."""
    try:
        if os.stat(path + "-wal").st_size:
            return False
    except OSError:
        pass
    try:
        with Session(path) as session:
            return session.fact("complete") == 1
    except sqlite3.Error:
        return False


def lock_holder(path):
    """The pid of who has a lock on a file, from the kernel's list of locks; None: nobody. To try
    the lock would be in its way."""
    try:
        inode = ":%d" % os.stat(path).st_ino
        with open("/proc/locks") as locks:
            return next(
                (
                    int(fields[4])
                    for fields in map(str.split, locks)
                    if fields[1] == "FLOCK" and fields[5].endswith(inode)
                ),
                None,
            )
    except OSError:
        return None


def is_written(path):
    """Somebody records into the session: the sidecar has a lock on the file for as long."""
    return lock_holder(path) is not None


def sidecar_of(directory):
    """The pid of the sidecar that serves a session directory; None: there is none."""
    return lock_holder(os.path.join(directory, "sidecar.lock"))


def wait_complete(path, seconds=PATIENCE):
    """Under a plain LD_PRELOAD the sidecar outlives the program for a moment: its end is a finished
    file. Gives up when nobody has written the file for so many seconds, or somebody does for
    600."""
    last, end = time.monotonic() + 600, time.monotonic() + seconds
    while time.monotonic() < min(end, last):
        if is_written(
            path
        ):  # also when it is complete: what is read while the sidecar closes it may find it locked
            end = time.monotonic() + seconds
        elif is_complete(path):
            return True
        time.sleep(0.05)
    return False


def record(
    command, session, how="run", below="", env=None, timeout=240, cwd=None, options=(), user=None
):
    """Records a command. how: "run" for shinyctl run, with `options`, "preload" for a plain
    LD_PRELOAD. below: an allocator to preload under us. user: a User, who must be allowed to write
    the session."""
    remove_session(session)
    settings = {"SHINY_OUT": session}
    if how == "run":
        if below:
            settings["LD_PRELOAD"] = below
        settings.update(env or {})
        return run([CTL, "run", *options, "--"] + command, settings, timeout, cwd, user=user)
    settings["LD_PRELOAD"] = " ".join(filter(None, [LIB, below]))
    settings.update(env or {})
    result = run(command, settings, timeout, cwd, user=user)
    wait_complete(session)
    return result


def record_unfinished(command, session, unfinished, env=None):
    """Records a command, whose first word is its program's file, and makes `unfinished` of what the
    session has when the program has ended, but not the recording. Returns the command's output; its
    status is not looked at."""

    def has_ended():
        try:
            with Session(session) as s:
                return s.value(
                    "SELECT COUNT(*) FROM process WHERE executable = ? AND ending = 'exited'",
                    os.path.realpath(command[0]),
                )
        except sqlite3.Error:
            return 0

    remove_session(session)
    launcher = subprocess.Popen(
        [CTL, "run", "-q", "-o", session, "--", "sh", "-c", '"$0" "$@"; read line', *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(env or {}),
    )
    wait_for(has_ended, "the program's end in its session")
    made = run([CTL, "collect", "-q", "-o", unfinished, session])
    out, _ = launcher.communicate(b"\n")
    if (launcher.returncode, made.status) != (0, 0):
        raise RuntimeError("%d, %d: %s" % (launcher.returncode, made.status, short(made.err)))
    return out.decode()


# ---- waiting, and other processes ----


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(state, what):
    """Waits until state() is true, and returns what it is. It looks again when it has waited a
    twentieth longer: who looks all the time takes the processor from whom it waits for."""
    began = time.monotonic()
    while (waited := time.monotonic() - began) < PATIENCE:
        value = state()
        if value:
            return value
        time.sleep(min(max(0.005, waited / 20), 0.2))
    raise TimeoutError("waited %d s for %s" % (PATIENCE, what))


def alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def parent_and_cpu(pid):
    """(parent, seconds of processor time) of a process; (0, 0) when it is gone."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return int(fields[1]), (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0, 0.0


def sidecar_cpu(launcher):
    """Seconds of processor time of the sidecar that shinyctl run, process `launcher`, has
    started."""
    for name in os.listdir("/proc"):
        parent, cpu = parent_and_cpu(int(name)) if name.isdigit() else (0, 0)
        if parent == launcher and "shinyctl" in os.readlink("/proc/%s/exe" % name):
            return cpu
    return 0.0


# ---- sessions ----
class Session:
    """Read-only access through the public views."""

    def __init__(self, path):
        self.path = path
        self.db = sqlite3.connect("file:%s?mode=ro" % path.replace("?", "%3f"), uri=True)
        self.db.row_factory = sqlite3.Row

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.db.close()

    def rows(self, sql, *arguments):
        return self.db.execute(sql, arguments).fetchall()

    def value(self, sql, *arguments):
        row = self.db.execute(sql, arguments).fetchone()
        return row[0] if row else None

    def fact(self, key):
        return self.value("SELECT value FROM v_session WHERE key = ?", key)

    def losses(self):
        return {
            row["name"]: row["count"]
            for row in self.rows("SELECT name, SUM(count) AS count FROM v_losses GROUP BY name")
        }

    def counter(self, name):
        return self.value("SELECT COALESCE(SUM(count), 0) FROM v_counters WHERE name = ?", name)

    def functions(self, prefix):
        """stack -> the function that physically holds the innermost return address, for those that
        begin with `prefix`."""
        found = {}
        for row in self.rows(
            "SELECT stack, function FROM v_stack_frames WHERE level = 0 AND NOT inlined"
        ):
            name = (row["function"] or "").split("(")[0]
            if name.startswith(prefix):
                found[row["stack"]] = name
        return found

    NUMBERS = (
        "allocs",
        "reallocs",
        "frees",
        "bytes",
        "live",
        "live_bytes",
        "inherited",
        "inherited_bytes",
        "inherited_frees",
    )

    def stats(self, prefix):
        """(process, function) -> {type or None: numbers}; a type's numbers also hold `readings`,
        how its vptrs were read. `live` is what the process itself held when it ended, whether or
        not that was before the session's end."""
        functions = self.functions(prefix)
        types = {
            row["vtable"]: row["type"] for row in self.rows("SELECT vtable, type FROM v_vtables")
        }
        result = {}
        for row in self.rows("SELECT * FROM stat"):
            function = functions.get(row["stack"])
            if not function:
                continue
            name = types.get(row["vtable"]) if row["vtable"] else None
            into = result.setdefault((row["process"], function), {}).setdefault(
                name, dict.fromkeys(self.NUMBERS, 0)
            )
            for number in self.NUMBERS:
                into[number] += row[number] + (
                    row[number.replace("live", "abandoned")] if number.startswith("live") else 0
                )
            into.setdefault("readings", set()).add(row["reading"])
        return result

    def processes(self):
        return self.rows("SELECT * FROM v_processes ORDER BY process")

    def pid(self, pid):
        """The process whose pid, as it saw itself, is `pid`: its row, or None."""
        found = [row for row in self.processes() if pid in (row["namespace_pid"], row["pid"])]
        return found[-1] if found else None


def xxh3(data):
    """XXH3_64bits of some bytes, as the files that the library reads have it."""
    program = os.path.join(TMP, "xxh3")
    if not os.path.exists(program):
        with open(program + ".c", "w") as file:
            file.write(
                "#define XXH_INLINE_ALL\n#include <xxhash.h>\n#include <stdio.h>\nstatic char b[8"
                " << 20];\nint main(void) { printf(\"%llu\\n\", (unsigned long long)XXH3_64bits(b,"
                " fread(b, 1, sizeof b, stdin))); }\n"
            )
        subprocess.run(["gcc", "-O1", "-o", program, program + ".c"], check=True)
    return int(subprocess.run([program], input=data, capture_output=True, check=True).stdout)


def add(numbers):
    """Sums the numbers of several types."""
    total = dict.fromkeys(Session.NUMBERS, 0)
    for entry in numbers:
        for key in total:
            total[key] += entry[key]
    return total


def events(session):
    """Every event of a session: (kind, process, thread, stack, address, size, old_address, api)."""
    result = run([os.path.join(O, "test/lib/events"), session])
    if result.status:
        raise RuntimeError("events: " + result.err)
    for text in result.out.decode().splitlines():
        kind, *numbers = text.split(" ")
        yield (kind, *map(int, numbers))


def json_lines(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def without_ids(text):
    """Process and thread ids differ from run to run; nothing else may."""
    return re.sub(r'"(pid|tid)":\d+', r'"\1":0', text)


def have(program):
    return shutil.which(program)
