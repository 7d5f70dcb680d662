# SPDX-License-Identifier: Apache-2.0
"""What Chromium itself says about its malloc, and what a session says about the same moment.

Chromium's side is a memory-infra dump of detailed level, asked for through DevTools. For each
process it lists malloc's partitions: `allocator`, and `original`, where everything lies that was
allocated before the features were known; `leaked` as a rule is empty. Of each it says the slots in
use and their bytes (the sum is malloc/allocated_objects), bucket by bucket. How that compares with
a session, and why:

* The moment. A dump takes milliseconds, and makes some 1,700 blocks itself.
PartitionRoot::DumpStats (partition_root.cc) allocates
  4096 uint32_t for the lengths of direct maps, then takes the partition's lock and counts; its
  caller does that for one partition after the other, within the trace's event InvokeOnMemoryDump of
  the provider Malloc. So each partition's moment is an allocation of 16,384 bytes, which the
  session has, too: the last ones, one for each partition, that this event's thread made in it.
* The place. `original` has no in-slot metadata and lies in PartitionAlloc's regular pool,
`allocator` does, and lies in the BRP pool
  right behind it; pools are 16 GiB and aligned to that (partition_address_space.h). So an address
  tells its partition.
* The size. Shiny knows the bytes asked for, Chromium the slots. A slot is the smallest bucket that
holds request and extras: 4 bytes
  of InSlotMetadata in the BRP pool, nothing in the other (in_slot_metadata.h). Which buckets there
  are depends on the version and on the process (4 or 8 an order), but the dump lists them. A slot
  that has a span for itself is counted with its real size while that span is on the active list,
  else in full (SlotSpanMetadata::CanStoreRawSize): both are right. What is larger than the last
  bucket is mapped directly, in whole pages. Requests with an alignment take the next power of two
  (PartitionRoot::AlignedAlloc); a session doesn't know the alignment, so blocks that a bucket lacks
  and the bucket of its next power of two has too many of are taken for such.
* What is free for the program but not for the partition. Freed slots wait in threads' caches: the
dump says how many bytes, not how many slots.
  Slots that a raw_ptr still points to are quarantined: the dump says both. Slots that we hold for
  live and the partition does not are blocks whose end we missed. The others, bucket by bucket, are
  cached, or blocks that we missed: cached ones have the bytes that the dump says; of a bucket's
  surplus the same share is taken to be cached as of all surplus bytes.
* What is left. Freed objects of classes with memory safety checks
(symbolizer/probe/probe_checked.c) wait in a quarantine of their own
  (SchedulerLoopQuarantine), of which the dump says nothing: some 200 slots and 95 KB in the browser
  process, half a percent. The session has their frees, and that nothing took their slots since:
  held(). Other processes agree to the block.
"""
import bisect
import os
import re
import subprocess
import time

from harness import O, Session

PARTITIONS = ("allocator", "original", "leaked")
MARKER = 4 * 4096          # bytes: DumpStats' table of direct maps
POOL_SHIFT = 34            # pools are 16 GiB
EXTRAS = {"allocator": 4, "original": 0, "leaked": 4}
PAGE = 4096
# what frees checked classes, as events print it (include/shiny/wire/api.def); all else goes through
# the dispatch chain
DELETE = 9
SLACK = 1_000_000  # ns by which the two clocks may be apart


def value(dump, name, attribute):
    entry = dump.get(name, {}).get("attrs", {}).get(attribute)
    return int(entry["value"], 16) if entry else 0


def dump(browser):
    """The trace of one detailed dump of all processes; None where the browser failed to make it."""
    answers = []
    events = browser.trace(
        ["disabled-by-default-memory-infra"],
        memoryDumpConfig={"triggers": []},
        during=lambda: answers.append(
            browser.call("Tracing.requestMemoryDump", deterministic=True, levelOfDetail="detailed")
        ),
    )
    return events if answers[0]["success"] else None


class Process:
    """One process of a dump: its pid, name, allocators, and by which thread and when (ns,
    CLOCK_MONOTONIC) its malloc was counted."""

    def __init__(self, pid):
        self.pid, self.name, self.dump, self.counted, self.tid = pid, "", {}, None, 0

    def nodes(self):
        return value(self.dump, "blink_objects/Node", "object_count")


def processes(events):
    found = {}
    for event in events:
        process = found.setdefault(event["pid"], Process(event["pid"]))
        if event["ph"] == "M" and event["name"] == "process_name":
            process.name = event["args"]["name"]
        elif event["ph"] == "v":
            process.dump.update(event["args"]["dumps"].get("allocators", {}))
        elif (
            event["ph"] == "X"
            and event["name"].endswith("InvokeOnMemoryDump")
            and event["args"].get("memory_dump_provider", {}).get("name") == "Malloc"
        ):
            process.counted, process.tid = (
                event["ts"] * 1000,
                (event["ts"] + event["dur"]) * 1000,
            ), event["tid"]
    return [p for p in found.values() if p.counted and "malloc/allocated_objects" in p.dump]


# ---- the session's side ----
def tool(name, *arguments):
    return subprocess.run(
        [os.path.join(O, "test/lib", name), *map(str, arguments)],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    ).stdout.splitlines()


def clock_offset(path):
    """Add it to CLOCK_MONOTONIC in ns: the session's time."""
    with Session(path) as session:
        started = session.fact("started_boottime_ns")
    return (
        time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        - started
    )


def moments(path, process_id, process, offset):
    """{partition: ns in the session at which it was counted}; None: the thread made another number
    of such allocations."""
    names = [name for name in PARTITIONS if "malloc/partitions/" + name in process.dump]
    low, high = (ns + offset for ns in process.counted)
    with Session(path) as session:
        threads = {
            str(row["thread"])
            for row in session.rows(
                "SELECT thread FROM v_threads WHERE process = ? AND tid = ?",
                process_id,
                process.tid,
            )
        }
    made = []
    for line in tool("events", path, process_id, int(low - SLACK), int(high + SLACK)):
        kind, _, thread, _, _, size, _, _, when = line.split(" ")
        if kind == "alloc" and thread in threads and int(size) == MARKER:
            made.append(int(when))
    return dict(zip(names, made[-len(names):])) if len(made) >= len(names) else None


def live_at(path, times):
    """ns -> process id -> [(pool, size, count)]"""
    found, now = {}, None
    for line in tool("live_at", path, POOL_SHIFT, *sorted(set(times))):
        if line.startswith("at "):
            now = found.setdefault(int(line[3:]), {})
            continue
        process, pool, _, size, count = map(int, line.split(" "))
        now.setdefault(process, []).append((pool, size, count))
    return found


def held(path, comparison):
    """Blocks of checked classes that were freed and whose slots were not used again up to the
    moment: how many, bytes of their slots."""
    live, freed = {}, {}
    for line in tool("events", path, comparison.process, 0, comparison.moment):
        kind, _, _, _, address, size, old, api, _ = line.split(" ")
        if kind == "free":
            was = live.pop(address, None)
            if was and int(api) == DELETE:
                freed[address] = was
        elif kind in ("alloc", "realloc"):
            live.pop(old, None)
            freed.pop(address, None)
            live[address] = size
    slots = [
        comparison.slots[bisect.bisect_left(comparison.slots, int(size) + EXTRAS["allocator"])]
        for size in freed.values()
    ]
    return len(slots), sum(slots)


# ---- both ----
class Comparison:
    """Slots and bytes of a process; `cached` and `quarantined` are in Chromium's `count` and
    `bytes`, not in the session's."""

    FIELDS = (
        "count",
        "bytes",
        "cached_count",
        "cached_bytes",
        "quarantined_count",
        "quarantined_bytes",
        "shiny_count",
        "shiny_bytes",
        "shiny_requested",
        "surplus_bytes",
        "too_many",
    )

    def __init__(self):
        for field in self.FIELDS:
            setattr(self, field, 0)
        self.buckets = {}
        self.process = self.moment = 0  # in the session; when `allocator` was counted
        self.slots = []                 # sizes of its slots, ascending

    def left(self):
        """Bytes of slots in use that are neither the session's blocks, nor cached, nor in the
        quarantine that the dump tells of."""
        return self.surplus_bytes - self.cached_bytes - self.quarantined_bytes

    def add(self, other):
        for field in self.FIELDS:
            setattr(self, field, getattr(self, field) + getattr(other, field))

    def count_error(self):
        used = self.count - self.cached_count - self.quarantined_count
        return (self.shiny_count - used) / used

    def bytes_error(self):
        used = self.bytes - self.cached_bytes - self.quarantined_bytes
        return (self.shiny_bytes - used) / used


class Bucket:
    """Slots of one size: in use as the dump says, their bytes as it counts them, whether they have
    a span each; blocks of the session."""

    def __init__(self, slot):
        self.slot, self.count, self.bytes, self.alone, self.ours, self.raw = slot, 0, 0, False, 0, 0

    def surplus(self):
        return self.count - self.ours

    def our_bytes(self):
        if self.alone and not self.surplus():
            return min(max(self.bytes, self.raw), self.slot * self.ours)
        return self.raw if self.alone else self.slot * self.ours


def buckets_of(process, partition):
    """slot size -> Bucket; direct maps are buckets of their own size."""
    found = {}
    for name in process.dump:
        if not re.fullmatch(
            r"malloc/partitions/%s/buckets/(bucket|directMap)_\d+" % partition, name
        ):
            continue
        slot = value(process.dump, name, "slot_size")
        bucket = found.setdefault(slot, Bucket(slot))
        counted = value(process.dump, name, "allocated_objects_size")
        bucket.bytes += counted
        bucket.alone = value(process.dump, name, "total_slot_span_size") < 2 * slot
        bucket.count += (
            value(process.dump, name, "active_slot_spans")
            + value(process.dump, name, "full_slot_spans")
            if bucket.alone
            else counted // slot
        )
    return found


def place(buckets, rows, extras):
    """Puts the session's blocks, (size, count), into the buckets."""
    slots = sorted(buckets)
    for size, count in rows:
        raw = max(size + extras, 16)
        at = bisect.bisect_left(slots, raw)
        slot = slots[at] if at < len(slots) else (raw + PAGE - 1) // PAGE * PAGE
        bucket = buckets.setdefault(slot, Bucket(slot))
        bucket.ours += count
        bucket.raw += raw * count
    for bucket in list(buckets.values()):
        power = buckets.get(1 << (bucket.slot - 1).bit_length())
        if power and power is not bucket and bucket.surplus() < 0 < power.surplus():
            aligned = min(-bucket.surplus(), power.surplus())
            bucket.raw -= bucket.raw * aligned // bucket.ours
            bucket.ours -= aligned
            power.ours += aligned
            power.raw += power.slot * aligned


def compare_partition(process, partition, rows):
    """rows: (size, count) of the session's blocks in the partition's pool."""
    result = Comparison()
    name = "malloc/partitions/" + partition
    result.count = value(process.dump, name, "allocated_objects_count")
    result.bytes = value(process.dump, name, "allocated_objects_size")
    result.cached_bytes = value(process.dump, name + "/thread_cache", "size")
    result.quarantined_count = value(process.dump, name, "brp_quarantined_count")
    result.quarantined_bytes = value(process.dump, name, "brp_quarantined_size")
    result.shiny_count = sum(count for _, count in rows)
    result.shiny_requested = sum(size * count for size, count in rows)
    buckets = buckets_of(process, partition)
    place(buckets, rows, EXTRAS[partition])
    result.shiny_bytes = sum(bucket.our_bytes() for bucket in buckets.values())
    result.too_many = sum(max(0, -bucket.surplus()) for bucket in buckets.values())
    result.buckets = {
        bucket.slot: bucket.surplus() for bucket in buckets.values() if bucket.surplus()
    }
    surplus = [bucket for bucket in buckets.values() if bucket.surplus() > 0]
    result.surplus_bytes = sum(bucket.surplus() * bucket.slot for bucket in surplus)
    if result.surplus_bytes:
        share = min(1, (result.cached_bytes + result.quarantined_bytes) / result.surplus_bytes)
        result.cached_count = max(
            0, round(sum(bucket.surplus() for bucket in surplus) * share) - result.quarantined_count
        )
    return result


def compare(path, events):
    """pid -> (Process, Comparison or None): None where the moment could not be told, or the process
    is not in the session."""
    offset = clock_offset(path)
    with Session(path) as session:
        ids = {
            row["pid"]: row["process"] for row in session.processes() if row["ending"] != "replaced"
        }
    found = processes(events)
    when = {p.pid: moments(path, ids[p.pid], p, offset) for p in found if p.pid in ids}
    live = live_at(path, [ns for times in when.values() for ns in (times or {}).values()])
    result = {}
    for process in found:
        times = when.get(process.pid)
        if not times:
            result[process.pid] = (process, None)
            continue
        total = Comparison()
        first = live[times["allocator"]].get(ids[process.pid], [])
        pools = sorted({pool for pool, _, _ in first})
        pairs = [pool for pool in pools if pool + 1 in pools] or pools[:1]
        for partition, ns in times.items():
            rows = live[ns].get(ids[process.pid], [])
            pool = (
                {"original": pairs[0], "allocator": pairs[0] + (len(pools) > 1), "leaked": None}[
                    partition
                ]
                if pairs
                else None
            )
            part = compare_partition(
                process, partition, [(size, count) for p, size, count in rows if p == pool]
            )
            total.add(part)
            total.buckets[partition] = part.buckets
        total.process, total.moment = ids[process.pid], times["allocator"]
        total.slots = sorted(buckets_of(process, "allocator"))
        result[process.pid] = (process, total)
    return result
