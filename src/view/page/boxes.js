// SPDX-License-Identifier: Apache-2.0
// Functions as boxes of a flame graph. One without a name has `nameless`, which it shares with
// those of its file, directory or module: such neighbours, above or beside each other, are one box
// until that is opened.
import { noun } from './words.js';

function hashOf(id, text) {
  for (let i = 0; i < text.length; i++) id = (id * 31 + text.charCodeAt(i)) >>> 0;
  return id;
}

// A box, or the one function that it has.
const named = ({ inside, ...node }) => (inside?.size > 1 ? { ...node, inside: inside.size }
  : { ...node, name: inside ? [...inside][0] : node.name });

// Functions by name, as lists: those without one by what they share.
export class Functions {
  rows = new Map();

  row(line, zero) {
    const key = line.nameless || line.name;
    let row = this.rows.get(key);
    if (!row)
      this.rows.set(key, row = { name: key, inside: line.nameless ? new Set() : undefined,
        source: line.file ? `${line.file.split('/').pop()}:${line.line}` : '', ...zero });
    row.inside?.add(line.name);
    return row;
  }

  list() {
    return [...this.rows.values()].map(named);
  }
}

export class Boxes {
  // `keys`: of the numbers that are added up; `opened`: ids of boxes that are shown as functions.
  constructor(keys, opened = new Set()) {
    Object.assign(this, { keys, opened, root: this.box(keys, { name: 'all' }, 7) });
  }

  box(keys, line, id) {
    return { ...line, ...Object.fromEntries(keys.map((key) => [key, 0])), id, below: new Map() };
  }

  step(at, key, line) {
    let next = at.below.get(key);
    if (!next) at.below.set(key, next = this.box(this.keys, line, hashOf(at.id, key)));
    return next;
  }

  // Adds the numbers to each function of a path, outermost first.
  add(path, numbers) {
    const count = (box) => this.keys.forEach((key, i) => { box[key] += numbers[i]; });
    let at = this.root, opened = false;
    count(at);
    path.forEach((line, i) => {
      const { nameless } = line, goes = nameless && path[i - 1]?.nameless === nameless;
      if (!goes) opened = Boolean(nameless && this.opened.has(hashOf(at.id, nameless)));
      if (!nameless || opened) {
        at = this.step(at, line.name, line);
      } else if (!goes) {
        at = this.step(at, nameless, { ...line, name: nameless });
        at.inside ??= new Set();
      }
      if (!nameless || opened || !goes) count(at);
      at.inside?.add(line.name);
    });
  }

  list(node = this.root) {
    const { below, ...more } = named(node);
    return { ...more, children: [...below.values()].map((one) => this.list(one)) };
  }
}

// What a label says of a box of several functions.
export const insideOf = (node) => (node.inside
  ? `  ${noun(node.inside, 'function')}; click to see them` : '');
