# SPDX-License-Identifier: Apache-2.0
"""Edges between objects of Blink's garbage-collected heap, counted by the types of their ends: in
Chromium's own heap snapshot, and in ours. Standard library only.

Elements are one type on both sides, "(element)": Chromium calls them by their tags. An edge from an
object to itself is left out: where an object and its JavaScript wrapper are one node, it is theirs.
"""
import collections
import functools
import os
import re
import subprocess

from harness import O

GRAPH_LINES = os.path.join(O, "test/lib/graph_lines")
SPELLING = os.path.join(O, "test/lib/type_spelling")
ELEMENT = "(element)"


def spelled(names):
    """{name: as the session spells it}"""
    told = subprocess.run([SPELLING], input="\n".join(n.replace("\n", " ") for n in names) + "\n",
                          capture_output=True, text=True, check=True).stdout.splitlines()
    return dict(zip(names, told))


def chromium_labels(names):
    """{name of a native node: what its type is called here}"""
    return {n: ELEMENT if re.match("<[a-z]", n) else text
            for n, text in spelled(sorted(names)).items()}


def chromium_edges(snapshot):
    """(types, edges): Counters of names and of pairs of names, of a parsed heap snapshot."""
    meta, nodes, strings = snapshot["snapshot"]["meta"], snapshot["nodes"], snapshot["strings"]
    fields, edge_fields = meta["node_fields"], meta["edge_fields"]
    width, edge_width = len(fields), len(edge_fields)
    kind, name, count = (fields.index(f) for f in ("type", "name", "edge_count"))
    native = meta["node_types"][0].index("native")
    to = edge_fields.index("to_node")
    spelling = chromium_labels({strings[nodes[at + name]] for at in range(0, len(nodes), width)
                                if nodes[at + kind] == native})
    labels = {at: spelling[strings[nodes[at + name]]] for at in range(0, len(nodes), width)
             if nodes[at + kind] == native}
    found, first = collections.Counter(), 0
    for at in range(0, len(nodes), width):
        end = first + nodes[at + count] * edge_width
        if at in labels:
            for edge in range(first, end, edge_width):
                target = labels.get(snapshot["edges"][edge + to])
                if target and snapshot["edges"][edge + to] != at:
                    found[labels[at], target] += 1
        first = end
    return collections.Counter(labels.values()), found


@functools.lru_cache(4)
def graph_lines(session, snapshot, mode, said=None):
    return subprocess.run([GRAPH_LINES, session, str(snapshot), mode], input=said,
                          capture_output=True, text=True, check=True).stdout.splitlines()


def label(name):
    """What a type of ours is called here."""
    name = name[1:-1] if name.startswith("(") else name
    return ELEMENT if re.match("(HTML|SVG)[A-Za-z0-9]*Element$", name) else name


def our_edges(session, snapshot, kept=False):
    """The same of a snapshot of ours, of all blocks. `kept`: only edges that keep a block."""
    types, found = collections.Counter(), collections.Counter()
    for line in graph_lines(session, snapshot, "kept-pairs" if kept else "pairs"):
        kind, count, rest = line.split(" ", 2)
        if kind == "type":
            types[label(rest)] += int(count)
        else:
            source, target = rest.split("\t")
            found[label(source), label(target)] += int(count)
    return types, found
