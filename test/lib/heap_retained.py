# SPDX-License-Identifier: Apache-2.0
"""Retained bytes by type in Chromium's own heap snapshot, by a plain model: immediate dominators
found by going round until nothing changes (Cooper, Harvey, Kennedy), subtrees added up. Standard
library only.
"""
import collections

from heap_edges import chromium_labels, graph_lines, label

WRAPPER_BYTES = 16  # of an object that is one node with its wrapper in JavaScript


def rows_of(snapshot):
    """(targets, kinds, names, sizes) of the nodes of a parsed heap snapshot, without weak edges."""
    meta, nodes, edges = snapshot["snapshot"]["meta"], snapshot["nodes"], snapshot["edges"]
    fields, edge_fields = meta["node_fields"], meta["edge_fields"]
    width, edge_width = len(fields), len(edge_fields)
    weak = meta["edge_types"][0].index("weak")
    kinds = [meta["node_types"][0][k] for k in nodes[fields.index("type")::width]]
    names = nodes[fields.index("name")::width]
    sizes = nodes[fields.index("self_size")::width]
    counts = nodes[fields.index("edge_count")::width]
    edge_kinds = edges[edge_fields.index("type")::edge_width]
    targets = [to // width for to in edges[edge_fields.index("to_node")::edge_width]]
    edge_names = edges[edge_fields.index("name_or_index")::edge_width]
    internal, has_map = meta["edge_types"][0].index("internal"), snapshot["strings"].index("map")
    lists, first = [], 0
    for node, count in enumerate(counts):
        lists.append([targets[e] for e in range(first, first + count) if edge_kinds[e] != weak])
        if kinds[node] == "native" and any(
                edge_names[e] == has_map and edge_kinds[e] == internal
                for e in range(first, first + count)):
            sizes[node] -= WRAPPER_BYTES
        first += count
    return lists, kinds, [snapshot["strings"][n] for n in names], sizes


def dominators(lists):
    """(order, parent): nodes that node 0 reaches, each behind its dominator, and this, -1 of 0."""
    seen, postorder, stack = {0}, [], [(0, iter(lists[0]))]
    while stack:
        node, rest = stack[-1]
        for to in rest:
            if to not in seen:
                seen.add(to)
                stack.append((to, iter(lists[to])))
                break
        else:
            postorder.append(node)
            stack.pop()
    order = postorder[::-1]
    number = [-1] * len(lists)
    for i, node in enumerate(order):
        number[node] = i
    into = [[] for _ in order]
    for i, node in enumerate(order):
        for to in lists[node]:
            into[number[to]].append(i)
    above, changed = [-1] * len(order), True
    above[0] = 0
    while changed:
        changed = False
        for i in range(1, len(order)):
            new = -1
            for other in into[i]:
                if above[other] < 0:
                    continue
                while new >= 0 and new != other:
                    if new > other:
                        new = above[new]
                    else:
                        other = above[other]
                new = other
            if new != above[i]:
                above[i], changed = new, True
    parent = [-1] * len(lists)
    for i in range(1, len(order)):
        parent[order[i]] = order[above[i]]
    return order, parent


def retained_by_label(order, parent, labels, sizes):
    """{label: bytes that would go with all nodes that have it}; a label may be None."""
    held = list(sizes)
    children = [[] for _ in parent]
    for node in reversed(order[1:]):
        held[parent[node]] += held[node]
        children[parent[node]].append(node)
    sums, opened, stack = collections.Counter(), collections.Counter(), [(0, False)]
    while stack:
        node, leaving = stack.pop()
        name = labels[node]
        if leaving:
            opened[name] -= 1
            continue
        if name is not None and not opened[name]:
            sums[name] += held[node]
        opened[name] += 1
        stack.append((node, True))
        stack.extend((child, False) for child in children[node])
    return sums


def dominated(snapshot):
    """(kinds, names, sizes, order, parent) of the nodes of a parsed heap snapshot."""
    lists, *rows = rows_of(snapshot)
    return *rows, *dominators(lists)


def chromium_and_ours(nodes, session, taken):
    """[(theirs, ours, label)] of bytes of types that both know, most first: of dominated() of
    Chromium's snapshot and snapshot `taken` of the session."""
    kinds, names, sizes, order, parent = nodes
    labels = chromium_labels({n for n, kind in zip(names, kinds) if kind == "native"})
    ours = [line.split(" ", 2)[2] for line in graph_lines(session, taken, "pairs")
            if line.startswith("type ")]
    theirs = set(labels.values())
    ours = {name: label(name) for name in ours if label(name) in theirs}
    known = set(ours.values())
    of = [labels[n] if kind == "native" and labels[n] in known else None
          for n, kind in zip(names, kinds)]
    theirs = retained_by_label(order, parent, of, [s if l else 0 for s, l in zip(sizes, of)])
    said = "".join("%s\t%s\n" % pair for pair in ours.items())
    told = dict(reversed(line.split(" ", 2)[1:])
                for line in graph_lines(session, taken, "retained", said))
    return [(size, int(told[name]), name) for name, size in theirs.most_common()]
