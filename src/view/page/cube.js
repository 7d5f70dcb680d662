// SPDX-License-Identifier: Apache-2.0
// Adds up the session under a filter. A sample is a process, a stack and a type; `lives` and
// `changes` are the tables of page_cube.h, cells one behind the other.
export const FREED = 0, GONE = 1, LIVE = 2;
const LIFE = 6, CHANGE = 4, BINS = 64;
const SHORT = 20; // 2^20 ns, about a millisecond: blocks that live less are short-lived
const NONE = '(no stack)', MERGED = '(smaller stacks)';

export class Cube {
  constructor(data) {
    this.data = data;
    this.size = data.sample_process.length;
    this.intervals = data.intervals;
    this.facts = new Map(data.type_facts.map(([id, ...facts]) => [id, facts]));
    this.processes = new Map(data.processes.map((row) => [row.id, row]));
    this.names = {
      type: data.sample_type.map((id) => data.types[id]),
      site: data.sample_site.map((id, i) =>
        (data.sample_merged[i] ? MERGED : data.sites[id])),
      component: data.sample_component.map((id) => data.components[id]),
      process: data.sample_process.map(String),
    };
    const { lives, changes } = data;
    this.lives = Float64Array.from(lives);
    this.changes = Float64Array.from(changes);
    this.total = this.sums(this.pick({ from: 0, to: this.intervals }));
  }

  isTimed(state) {
    return state.from > 0 || state.to < this.intervals;
  }

  // What the filter leaves: which samples, and their numbers.
  pick(state) {
    const mask = new Uint8Array(this.size), d = this.data;
    const keys = ['process', 'component', 'type', 'site'].filter((key) => state[key]);
    for (let i = 0; i < this.size; i++)
      mask[i] = keys.every((key) => this.names[key][i] === state[key]) ? 1 : 0;
    const picked = { mask, timed: this.isTimed(state), from: state.from, to: state.to };
    if (picked.timed) this.countTimed(picked);
    else
      Object.assign(picked, { allocs: d.sample_allocs, bytes: d.sample_bytes,
        live: d.sample_live, live_bytes: d.sample_live_bytes });
    return picked;
  }

  countTimed(picked) {
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
    const l = this.lives;
    for (let i = 0; i < l.length; i += LIFE)
      if (picked.mask[l[i]] && l[i + 1] >= picked.from && l[i + 1] < picked.to)
        each(l[i], l[i + 2], l[i + 3], l[i + 4], l[i + 5]);
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
      timed: picked.timed };
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
        row = { name: names[i], allocs: 0, bytes: 0, live: 0, live_bytes: 0,
          ended: new Float64Array(BINS) };
        if (by === 'type') [row.confidence, row.rule] = this.facts.get(d.sample_type[i]) ?? ['none', ''];
        if (by === 'process') {
          const process = this.processes.get(d.sample_process[i]);
          row.id = d.sample_process[i];
          Object.assign(row, process && { name: process.name, pid: process.pid,
            ending: process.ending });
        }
        rows.set(names[i], row);
      }
      of[i] = row;
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

  // Live bytes at the end of each interval, of the samples of the filter, whenever they were born.
  series(picked) {
    const out = new Float64Array(this.intervals), c = this.changes;
    for (let i = 0; i < c.length; i += CHANGE)
      if (picked.mask[c[i]]) out[c[i + 1]] += c[i + 3];
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
      const process = this.processes.get(this.data.sample_process[i]);
      const first = grow(roots, process ? `${process.name} ${process.pid}` : '(no process)',
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
    const d = this.data, at = 3 * (d.node_line[node] - 1);
    return { name: d.texts[d.lines[at]], file: d.texts[d.lines[at + 1]], line: d.lines[at + 2] };
  }

  // The functions of a sample, innermost first.
  path(sample) {
    const d = this.data, out = [];
    if (d.sample_merged[sample]) return [{ name: MERGED, file: '', line: 0 }];
    for (let node = d.sample_node[sample]; node; node = d.node_parent[node])
      out.push(this.line(node));
    return out.length ? out : [{ name: NONE, file: '', line: 0 }];
  }

  // As a tree of functions by name, callers outside; `invert`: the allocating function outside.
  stacks(picked, measure, invert) {
    const weights = this.weights(picked, measure);
    const root = { name: 'all', value: 0, children: new Map() };
    for (let i = 0; i < this.size; i++) {
      if (!picked.mask[i] || !weights[i]) continue;
      const path = this.path(i);
      if (!invert) path.reverse();
      let at = root;
      at.value += weights[i];
      for (const line of path) {
        let next = at.children.get(line.name);
        if (!next) at.children.set(line.name, next = { ...line, value: 0, children: new Map() });
        next.value += weights[i];
        at = next;
      }
    }
    const list = (node) => ({ ...node, children: [...node.children.values()].map(list) });
    return list(root);
  }

  // Each function once: itself, and with what it calls.
  functions(picked, measure) {
    const weights = this.weights(picked, measure), rows = new Map();
    for (let i = 0; i < this.size; i++) {
      if (!picked.mask[i] || !weights[i]) continue;
      const seen = new Set();
      this.path(i).forEach((line, depth) => {
        if (!rows.has(line.name))
          rows.set(line.name, { name: line.name, all: 0, self: 0,
            source: line.file ? `${line.file.split('/').pop()}:${line.line}` : '' });
        const row = rows.get(line.name);
        if (!depth) row.self += weights[i];
        if (!seen.has(line.name)) row.all += weights[i];
        seen.add(line.name);
      });
    }
    return [...rows.values()];
  }

  // Blocks by size and lifetime, both by powers of two.
  points(picked) {
    const cells = new Map();
    this.eachLife(picked, (sample, bin, end, blocks, bytes) => {
      const size = Math.floor(Math.log2(Math.max(1, bytes / blocks)) * 2) / 2;
      const key = `${size} ${bin} ${end}`;
      const cell = cells.get(key) ?? { size: 2 ** size, life: 2 ** bin, end, blocks: 0, bytes: 0 };
      cell.blocks += blocks;
      cell.bytes += bytes;
      cells.set(key, cell);
    });
    return [...cells.values()];
  }

  usedNames(by) {
    return this.rows(this.pick({ from: 0, to: this.intervals }), by)
      .sort((a, b) => b.bytes - a.bytes).slice(0, 1000).map((row) => row.name);
  }

  usedComponents() {
    return [...new Set(this.names.component)].sort();
  }
}
