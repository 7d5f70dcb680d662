// SPDX-License-Identifier: Apache-2.0
// Adds up the session under a filter. A sample is a process, a stack and a type; a maker a thread
// and a tag; `lives` and `changes` are the tables of page_cube.h, their cells sorted by sample.
import { Boxes, Functions } from './boxes.js';

export const FREED = 0, GONE = 1, LIVE = 2;
const BINS = 64;
const SHORT = 20; // 2^20 ns, about a millisecond: blocks that live less are short-lived
export const NO_TAG = '(no tag)';
const NONE = '(no stack)', MERGED = '(smaller stacks)', OTHERS = '(others)';
const FOLD_STACK = 1, FOLD_ALL = 2; // enum page_fold

// A table's columns as page_cells_put() writes them, and where each sample's cells begin.
function readCells({ sample, maker, interval, bin, end, blocks, size }, samples) {
  const count = sample.length;
  const cells = { first: new Uint32Array(samples + 1), interval: new Uint16Array(count),
    maker: new Uint16Array(count),
    bin: Uint8Array.from(bin ?? []), end: Uint8Array.from(end ?? []),
    blocks: Float64Array.from(blocks), bytes: new Float64Array(count) };
  for (let i = 0, at = 0, by = 0, time = 0, code = 1; i < count; i++) {
    if (sample[i]) by = time = 0;
    at += sample[i];
    cells.first[at + 1] = i + 1;
    cells.maker[i] = by += maker[i];
    cells.interval[i] = time += interval[i];
    if (size[i]) code = size[i] > 0 ? size[i] - 2 : size[i];
    cells.bytes[i] = code % 2 ? (code - 1) / 2 : blocks[i] * code / 2;
  }
  for (let i = 1; i <= samples; i++)
    cells.first[i] = Math.max(cells.first[i], cells.first[i - 1]);
  return cells;
}

export class Cube {
  constructor(data) {
    this.data = data;
    this.size = data.sample_process.length;
    this.intervals = data.intervals;
    this.facts = new Map(data.type_facts.map(([id, ...facts]) => [id, facts]));
    this.processes = new Map(data.processes.map((row) => [row.id, row]));
    this.names = {
      type: this.nameAll(data.sample_type, (id) => data.types[id]),
      site: data.sample_site.map((id, i) =>
        [data.sites[id], MERGED, OTHERS][data.sample_fold[i]]),
      component: this.nameAll(data.sample_component, (id) => data.components[id]),
      process: this.nameAll(data.sample_process, String),
    };
    this.code = []; // functions, by number of their line
    this.lives = readCells(data.lives, this.size);
    this.changes = readCells(data.changes, this.size);
    this.total = this.sums(this.pick({ from: 0, to: this.intervals }));
    this.whole = this.series({ mask: new Uint8Array(this.size).fill(1) });
  }

  nameAll(ids, name) {
    return ids.map((id, i) => (this.data.sample_fold[i] === FOLD_ALL ? OTHERS : name(id)));
  }

  processName(id) {
    const process = this.processes.get(id);
    return process ? `${process.name} ${process.pid}` : '(no process)';
  }

  isTimed(state) {
    return state.from > 0 || state.to < this.intervals;
  }

  // By maker, whether it is the filter's thread and tag; undefined: all are.
  makersOf({ thread, tag }) {
    if (!thread && !tag) return undefined;
    const { makers, tags } = this.data, out = new Uint8Array(makers.length / 2);
    const wanted = tag === NO_TAG ? 0 : tags.find((row) => row[1] === tag)?.[0];
    for (let i = 0; i < out.length; i++)
      out[i] = (!thread || String(makers[2 * i]) === thread) &&
        (!tag || makers[2 * i + 1] === wanted) ? 1 : 0;
    return out;
  }

  // What the filter leaves: which samples, and their numbers.
  pick(state) {
    const mask = new Uint8Array(this.size), d = this.data;
    const keys = ['process', 'component', 'type', 'site'].filter((key) => state[key]);
    for (let i = 0; i < this.size; i++)
      mask[i] = keys.every((key) => this.names[key][i] === state[key]) ? 1 : 0;
    const picked = { mask, makers: this.makersOf(state), timed: this.isTimed(state),
      from: state.from, to: state.to };
    // of an interval, a thread or a tag only the cells know
    picked.counted = picked.timed || Boolean(picked.makers);
    if (picked.counted) this.countCells(picked);
    else
      Object.assign(picked, { allocs: d.sample_allocs, bytes: d.sample_bytes,
        live: d.sample_live, live_bytes: d.sample_live_bytes });
    return picked;
  }

  countCells(picked) {
    for (const key of ['allocs', 'bytes', 'live', 'live_bytes'])
      picked[key] = new Float64Array(this.size);
    this.eachLife(picked, (sample, bin, end, blocks, bytes) => {
      picked.allocs[sample] += blocks;
      picked.bytes[sample] += bytes;
      if (end !== LIVE) return;
      picked.live[sample] += blocks;
      picked.live_bytes[sample] += bytes;
    });
  }

  eachLife(picked, each) {
    const { first, maker, interval, bin, end, blocks, bytes } = this.lives, { makers } = picked;
    for (let sample = 0; sample < this.size; sample++) {
      if (!picked.mask[sample]) continue;
      for (let i = first[sample]; i < first[sample + 1]; i++)
        if (interval[i] >= picked.from && interval[i] < picked.to &&
            (!makers || makers[maker[i]]))
          each(sample, bin[i], end[i], blocks[i], bytes[i]);
    }
  }

  ages(picked) {
    const ended = new Float64Array(BINS), alive = new Float64Array(BINS);
    this.eachLife(picked, (sample, bin, end, blocks) => {
      (end === FREED ? ended : alive)[bin] += blocks;
    });
    return { ended, alive };
  }

  // The middle of the octave in which half of what ended has ended.
  static median(ended) {
    const all = ended.reduce((a, b) => a + b, 0);
    for (let bin = 0, sum = 0; bin < BINS && all; bin++)
      if ((sum += ended[bin]) * 2 >= all) return 2 ** (bin + 1);
    return NaN;
  }

  sums(picked) {
    const sums = { allocs: 0, bytes: 0, live: 0, live_bytes: 0, peak: 0, peak_bytes: 0, freed: 0,
      counted: picked.counted };
    for (let i = 0; i < this.size; i++) {
      if (!picked.mask[i]) continue;
      for (const key of ['allocs', 'bytes', 'live', 'live_bytes']) sums[key] += picked[key][i];
      sums.peak += this.data.sample_peak[i];
      sums.peak_bytes += this.data.sample_peak_bytes[i];
    }
    const { ended } = this.ages(picked);
    sums.freed = ended.reduce((a, b) => a + b, 0);
    sums.median = Cube.median(ended);
    return sums;
  }

  // One row a type, site or process.
  rows(picked, by) {
    const rows = new Map(), names = this.names[by], d = this.data;
    const of = new Array(this.size);
    for (let i = 0; i < this.size; i++) {
      if (!picked.mask[i] || !(picked.allocs[i] || picked.live[i])) continue;
      let row = rows.get(names[i]);
      if (!row) {
        row = { name: names[i], allocs: 0, bytes: 0, live: 0, live_bytes: 0, samples: [],
          ended: new Float64Array(BINS) };
        if (by === 'type') {
          const [confidence, rule] = this.facts.get(d.sample_type[i]) ?? ['none', ''];
          Object.assign(row, { confidence, rule: rule === 'none' ? '' : rule });
        }
        if (by === 'process') {
          const process = this.processes.get(d.sample_process[i]);
          row.id = d.sample_process[i];
          Object.assign(row, process && { name: process.name, pid: process.pid,
            ending: process.ending });
        }
        rows.set(names[i], row);
      }
      of[i] = row;
      row.samples.push(i);
      for (const key of ['allocs', 'bytes', 'live', 'live_bytes']) row[key] += picked[key][i];
    }
    this.eachLife(picked, (sample, bin, end, blocks) => {
      if (end === FREED && of[sample]) of[sample].ended[bin] += blocks;
    });
    return [...rows.values()].map(({ ended, ...row }) => ({ ...row, median: Cube.median(ended) }));
  }

  weights(picked, measure) {
    if (measure === 'peak') return this.data.sample_peak_bytes;
    if (measure === 'allocs') return picked.allocs;
    if (measure === 'bytes') return picked.bytes;
    if (measure === 'live') return picked.live_bytes;
    const short = new Float64Array(this.size);
    this.eachLife(picked, (sample, bin, end, blocks, bytes) => {
      if (end === FREED && bin < SHORT) short[sample] += bytes;
    });
    return short;
  }

  // Live bytes at the end of each interval, of the samples of the filter or of `samples`, whenever
  // they were born.
  series(picked, samples) {
    const out = new Float64Array(this.intervals);
    const { first, maker, interval, bytes } = this.changes, { makers } = picked;
    for (const sample of samples ?? picked.mask.keys()) {
      if (!picked.mask[sample]) continue;
      for (let i = first[sample]; i < first[sample + 1]; i++)
        if (!makers || makers[maker[i]]) out[interval[i]] += bytes[i];
    }
    for (let i = 1; i < out.length; i++) out[i] += out[i - 1];
    return out;
  }

  tree(picked, measure) {
    const weights = this.weights(picked, measure), roots = new Map();
    const grow = (map, name, filter) => {
      if (!map.has(name)) map.set(name, { name, filter, value: 0, inner: new Map() });
      return map.get(name);
    };
    for (let i = 0; i < this.size; i++) {
      if (!picked.mask[i] || !weights[i]) continue;
      const first = grow(roots, this.processName(this.data.sample_process[i]),
        { process: this.names.process[i] });
      const second = grow(first.inner, this.names.component[i],
        { ...first.filter, component: this.names.component[i] });
      const third = grow(second.inner, this.names.type[i],
        { ...second.filter, type: this.names.type[i] });
      for (const node of [first, second, third]) node.value += weights[i];
    }
    const list = (map) => [...map.values()].map(({ inner, ...node }) =>
      (inner.size ? { ...node, children: list(inner) } : node));
    return list(roots);
  }

  line(node) {
    const d = this.data, number = d.node_line[node], at = 6 * (number - 1);
    return this.code[number] ??= { name: d.texts[d.lines[at]], file: d.texts[d.lines[at + 1]],
      line: d.lines[at + 2], library: d.texts[d.lines[at + 3]], nameless: d.texts[d.lines[at + 4]],
      component: d.components[d.lines[at + 5]] };
  }

  // The functions of a sample, innermost first; `fold`: those of a library as one.
  path(sample, fold) {
    const d = this.data, out = [], { component: { [sample]: component } } = this.names;
    if (d.sample_fold[sample])
      return [{ name: d.sample_fold[sample] === FOLD_STACK ? MERGED : OTHERS, component }];
    for (let node = d.sample_node[sample]; node; node = d.node_parent[node]) {
      const line = this.line(node), { library } = line;
      if (!fold || !library) out.push(line);
      else if (out.at(-1)?.library !== library)
        out.push({ name: `[${library}]`, library, component: line.component });
    }
    return out.length ? out : [{ name: NONE, component }];
  }

  // As a tree of boxes (boxes.js), callers outside; `invert`: the allocating function outside.
  stacks(picked, measure, invert, fold, opened) {
    const weights = this.weights(picked, measure), boxes = new Boxes(['value'], opened);
    for (let i = 0; i < this.size; i++) {
      if (!picked.mask[i] || !weights[i]) continue;
      const path = this.path(i, fold);
      boxes.add(invert ? path : path.reverse(), [weights[i]]);
    }
    return boxes.list();
  }

  // What each component has, most first.
  owners(picked, measure) {
    const weights = this.weights(picked, measure), sums = new Map(), names = this.names.component;
    for (let i = 0; i < this.size; i++)
      if (picked.mask[i] && weights[i])
        sums.set(names[i], (sums.get(names[i]) ?? 0) + weights[i]);
    return [...sums].sort((a, b) => b[1] - a[1]);
  }

  // Each function once: itself, and with what it calls.
  functions(picked, measure, fold) {
    const weights = this.weights(picked, measure), functions = new Functions();
    for (let i = 0; i < this.size; i++) {
      if (!picked.mask[i] || !weights[i]) continue;
      const seen = new Set();
      this.path(i, fold).forEach((line, depth) => {
        const row = functions.row(line, { all: 0, self: 0 });
        if (!depth) row.self += weights[i];
        if (!seen.has(row)) row.all += weights[i];
        seen.add(row);
      });
    }
    return functions.list();
  }

  // Blocks by lifetime, to powers of two, and by size, to half ones.
  points(picked) {
    const cells = new Map();
    this.eachLife(picked, (sample, bin, end, blocks, bytes) => {
      const half = Math.floor(Math.log2(Math.max(1, bytes / blocks)) * 2);
      const key = (half * BINS + bin) * 3 + end;
      let cell = cells.get(key);
      if (!cell)
        cells.set(key, cell = { size: 2 ** (half / 2), life: 2 ** bin, end, blocks: 0, bytes: 0 });
      cell.blocks += blocks;
      cell.bytes += bytes;
    });
    return [...cells.values()];
  }

  usedNames(by) {
    const sums = new Map(), names = this.names[by], bytes = this.data.sample_bytes;
    names.forEach((name, i) => sums.set(name, (sums.get(name) ?? 0) + bytes[i]));
    return [...sums].sort((a, b) => b[1] - a[1]).slice(0, 1000).map(([name]) => name);
  }

  usedComponents() {
    return [...new Set(this.names.component)].sort();
  }
}
