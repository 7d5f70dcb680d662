// SPDX-License-Identifier: Apache-2.0
// Functions as boxes of a flame graph. One without a name has `nameless`, which it shares with
// those of its file, directory or module: such neighbours, above or beside each other, are one box
// until that is opened.
import { noun } from './words.js';

function hashOf(id, text) {
  for (let i = 0; i < text.length; i++) id = (id * 31 + text.charCodeAt(i)) >>> 0;
  return id;
}

// A box of several functions has their number; one of a single function is that.
function name(node) {
  if (node.inside?.size === 1) [node.name] = node.inside;
  node.inside = node.inside?.size > 1 ? node.inside.size : 0;
  return node;
}

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
    return Array.from(this.rows.values(), name);
  }
}

export class Boxes {
  // `keys`: of the numbers that are added up; `opened`: ids of boxes that are shown as functions.
  constructor(keys, opened = new Set()) {
    Object.assign(this, { keys, opened, root: this.box(keys, { name: 'all' }, 7) });
  }

  box(keys, line, id) {
    const box = { ...line, id, below: new Map() };
    for (const key of keys) box[key] = 0;
    return box;
  }

  step(at, key, line) {
    let next = at.below.get(key);
    if (!next) at.below.set(key, next = this.box(this.keys, line, hashOf(at.id, key)));
    return next;
  }

  // Adds the numbers to each function of a path, outermost first.
  add(path, numbers) {
    const { keys } = this;
    const count = (box) => { for (let i = 0; i < keys.length; i++) box[keys[i]] += numbers[i]; };
    let at = this.root, last = '', opened = false;
    count(at);
    for (const line of path) {
      const { nameless } = line, goes = nameless && nameless === last;
      if (!goes && nameless)
        opened = this.opened.size > 0 && this.opened.has(hashOf(at.id, nameless));
      if (!nameless || opened) {
        count(at = this.step(at, line.name, line));
      } else if (!goes) {
        count(at = this.step(at, nameless, line));
        at.name = nameless;
        at.inside ??= new Set();
      }
      if (nameless) at.inside?.add(line.name);
      last = nameless;
    }
  }

  list(node = this.root) {
    node.children = Array.from(node.below.values(), (one) => this.list(one));
    node.below = undefined;
    return name(node);
  }
}

// What a label says of a box of several functions.
export const insideOf = (node) => (node.inside
  ? `  ${noun(node.inside, 'function')}; click to see them` : '');
