// SPDX-License-Identifier: Apache-2.0
// The page of two sessions (compare_page.c): the rows of `shinyctl diff`, and the stacks of both as
// a flame graph, red where the newer session has more, blue where it has less.
import { bytes, change, count, share, time } from './words.js';
import { LOSS_COLUMNS, byId, fillList, fillOptions, showLosses, showNav, startShell } from './shell.js';
import { Boxes, insideOf } from './boxes.js';
import { drawFlame, searchFlame, zoomOut } from './flame.js';
import { BYTES, COUNT, nameColumn, showTable, signed, tablesBuilt } from './tables.js';

const VIEWS = { 'c-overview': 'Overview', 'c-flame': 'Flame graph', 'c-types': 'Types',
  'c-sites': 'Call sites', 'c-components': 'Components', 'c-limits': 'Loss' };
const MEASURES = { live: 'live at the end', bytes: 'bytes allocated', allocs: 'allocations' };
// of the sessions' sums
const SUMS = { live: 'live_bytes', bytes: 'bytes', allocs: 'allocs' };
const state = {};
const opened = new Set(); // boxes of the flame graph
let data, opening; // opening: the measure that changed most, with which the page opens

const wordsOf = (measure) => (measure === 'allocs' ? count : bytes);

function readAddress() {
  const words = new URLSearchParams(location.hash.slice(1));
  Object.assign(state, {
    view: `c-${words.get('view')}` in VIEWS ? `c-${words.get('view')}` : 'c-overview',
    measure: words.get('measure') in MEASURES ? words.get('measure') : opening,
    widths: words.get('widths') === 'base' ? 'base' : 'new',
    search: words.get('search') ?? '', icicle: words.has('icicle'), invert: words.has('invert'),
  });
}

function writeAddress() {
  const words = new URLSearchParams();
  if (state.view !== 'c-overview') words.set('view', state.view.slice(2));
  if (state.measure !== opening) words.set('measure', state.measure);
  if (state.widths !== 'new') words.set('widths', state.widths);
  if (state.search) words.set('search', state.search);
  for (const key of ['icicle', 'invert']) if (state[key]) words.set(key, '1');
  const next = '#' + words;
  if (location.hash !== next && (location.hash || words.size))
    history.replaceState(null, '', next);
}

// The measure of which the larger share differs; of equal ones the first.
function mostChanged({ base, new: now }) {
  const changed = (key) => Math.abs(now[key] - base[key]) / Math.max(now[key], base[key], 1);
  return Object.keys(SUMS).reduce((best, measure) =>
    (changed(SUMS[measure]) > changed(SUMS[best]) ? measure : best));
}

function choose(part) {
  Object.assign(state, part);
  writeAddress();
  show();
}

// ---- stacks ----

function lineOf({ texts, node_name, node_nameless, node_file, node_line }, node) {
  return { name: texts[node_name[node]], nameless: texts[node_nameless[node]],
    file: texts[node_file[node]], line: node_line[node] };
}

// The tree of both sessions by function, callers outside; `invert`: the allocating function
// outside. `value` is what its width shows.
export function bothStacks(stacks, measure, widths, invert, opened) {
  const boxes = new Boxes(['base', 'new', 'value'], opened);
  const base = stacks[`base_${measure}`], now = stacks[`new_${measure}`];
  for (let i = 1; i < base.length; i++) {
    if (!base[i] && !now[i]) continue;
    const path = [];
    for (let at = i; at; at = stacks.node_parent[at]) path.push(at);
    if (!invert) path.reverse();
    boxes.add(path.map((node) => lineOf(stacks, node)),
      [base[i], now[i], widths === 'base' ? base[i] : now[i]]);
  }
  return boxes.list();
}

// Red: more in the newer session; blue: less. As strong as the change is of what there is.
function colourOf({ base, new: now }) {
  const most = Math.max(base, now);
  if (!most || base === now) return '#d9dce1';
  const light = 88 - 30 * Math.abs(now - base) / most;
  return `hsl(${now > base ? 14 : 206} 85% ${light}%)`;
}

function functionRows(root) {
  const rows = new Map();
  const walk = (node, above) => {
    let below = above;
    const name = node.nameless || node.name;
    if (node !== root && !above.has(name)) {
      below = new Set(above).add(name);
      const row = rows.get(name) ?? { name, base: 0, new: 0,
        source: node.file ? `${node.file.split('/').pop()}:${node.line}` : '' };
      row.base += node.base;
      row.new += node.new;
      rows.set(name, row);
    }
    for (const child of node.children) walk(child, below);
  };
  walk(root, new Set());
  return [...rows.values()].map((row) => ({ ...row, change: row.new - row.base }))
    .filter((row) => row.change);
}

// ---- views ----

// Most changed first, growth before shrinking.
const byChange = [{ column: 'change', dir: 'desc' }];

function changeColumns(words) {
  const value = words === count ? COUNT : BYTES;
  return [{ title: 'Change', field: 'change', width: 130, ...signed(words) },
    { title: 'Base', field: 'base', width: 120, ...value },
    { title: 'New', field: 'new', width: 120, ...value }];
}

function showSums() {
  const rows = [['Live bytes at the end', 'live_bytes', bytes], ['Live blocks', 'live', count],
    ['Most bytes live at once', 'peak_bytes', bytes], ['Bytes allocated', 'bytes', bytes],
    ['Allocations', 'allocs', count], ['Processes', 'processes', count],
    ['Duration', 'duration_ns', time]]
    .filter(([, key]) => data.base[key] !== null && data.new[key] !== null)
    .map(([name, key, words]) => ({ name, base: words(data.base[key]), new: words(data.new[key]),
      change: change(data.base[key], data.new[key], words),
      share: data.base[key] && data.base[key] !== data.new[key]
        ? (data.new[key] > data.base[key] ? '+' : '\u2212') +
          share(Math.abs(data.new[key] - data.base[key]), data.base[key]) : '' }));
  const right = { hozAlign: 'right', headerSort: false, minWidth: 82 };
  showTable('c-sums', rows, [
    { title: 'What', field: 'name', widthGrow: 2, minWidth: 112, headerSort: false },
    { title: 'Base', field: 'base', ...right }, { title: 'New', field: 'new', ...right },
    { title: 'Change', field: 'change', ...right, minWidth: 92 },
    { title: 'Of the base', field: 'share', ...right },
  ], []);
}

function showRows(table, title, answer) {
  const pick = (row, key) => row[key]?.[SUMS[state.measure]] ?? 0;
  const rows = answer.rows.map((row) => ({ name: row.name, mostly: row.mostly ?? '',
    base: pick(row, 'base'), new: pick(row, 'new'),
    change: pick(row, 'new') - pick(row, 'base'),
    how: row.base ? (row.new ? '' : 'gone') : 'new' }));
  byId(`${table}-hint`).textContent = `${count(answer.different)} different, ` +
    `${count(answer.same)} the same` + (rows.length < answer.different
    ? `; the first ${count(rows.length)} are here, shinyctl diff has all` : '') +
    `. Shown: ${MEASURES[state.measure]}.`;
  showTable(`${table}-table`, rows, [
    nameColumn(title, (row) => choose({ view: 'c-flame', search: row.name })),
    ...changeColumns(wordsOf(state.measure)),
    { title: 'State', field: 'how', width: 90 },
    { title: 'Mostly', field: 'mostly', widthGrow: 3, minWidth: 140 },
  ], byChange);
}

function showFlame() {
  const root = bothStacks(data.stacks, state.measure, state.widths, state.invert, opened);
  const words = wordsOf(state.measure);
  drawFlame(byId('c-flame-graph'), root, {
    icicle: state.icicle, colour: colourOf, open: ({ id }) => { opened.add(id); show(); },
    label: (node) => `${node.name}  ${words(node.base)} \u2192 ${words(node.new)}, ` +
      `${change(node.base, node.new, words)}` + insideOf(node) +
      (node.file ? `  ${node.file}:${node.line}` : ''),
    tell: (text) => { byId('c-frame').textContent = text; },
  });
  searchFlame(state.search);
  showTable('c-functions-table', functionRows(root), [
    nameColumn('Function', (row) => choose({ search: row.name })), ...changeColumns(words),
    { title: 'Source', field: 'source', widthGrow: 2, minWidth: 120 },
  ], byChange);
}

const draw = {
  'c-overview': showSums,
  'c-flame': showFlame,
  'c-types': () => showRows('c-types', 'Type', data.types),
  'c-sites': () => showRows('c-sites', 'Call site', data.sites),
  'c-components': () => showRows('c-components', 'Component', data.components),
  'c-limits': () => showTable('c-losses-table', [data.base, data.new].flatMap((session) =>
    session.losses.map((row) => ({ ...row, session: session.name }))), [
    { title: 'Session', field: 'session', width: 200 },
    ...LOSS_COLUMNS,
  ], []),
};

function show() {
  const started = performance.now();
  showNav(state.view);
  byId('c-tools').hidden = ['c-overview', 'c-limits'].includes(state.view);
  byId('c-flame-tools').hidden = state.view !== 'c-flame';
  byId('c-measure').value = state.measure;
  byId('c-widths').value = state.widths;
  byId('c-search').value = state.search;
  byId('c-icicle').checked = state.icicle;
  byId('c-invert').checked = state.invert;
  draw[state.view]();
  document.documentElement.dataset.filterMs = (performance.now() - started).toFixed(1);
}

export function startCompare(read) {
  data = read;
  opening = mostChanged(data);
  document.title = `${data.base.name}, ${data.new.name} \u2013 Shiny`;
  byId('filter').hidden = true;
  byId('title').textContent = `${data.base.name} \u2192 ${data.new.name}`;
  byId('subtitle').textContent = data.base.command === data.new.command ? data.new.command
    : `${data.base.command} \u2192 ${data.new.command}`;
  showLosses([data.base, data.new]);
  fillList('c-notes', [
    `Base: ${data.base.name}, ${data.base.command}`, `New: ${data.new.name}, ${data.new.command}`,
    'A change is the newer session less the older one. Two runs of one program differ too: ' +
    'shinyctl diff says how rows are ranked.']);
  fillOptions(byId('c-measure'), Object.entries(MEASURES));
  for (const [id, key] of [['c-measure', 'measure'], ['c-widths', 'widths'],
    ['c-search', 'search']])
    byId(id).addEventListener('change', (event) => choose({ [key]: event.target.value }));
  for (const [id, key] of [['c-icicle', 'icicle'], ['c-invert', 'invert']])
    byId(id).addEventListener('change', (event) => choose({ [key]: event.target.checked }));
  byId('c-zoom-out').addEventListener('click', () => { opened.clear(); zoomOut(); show(); });
  byId('c-tools').addEventListener('submit', (event) => event.preventDefault());
  addEventListener('hashchange', () => { readAddress(); show(); });
  addEventListener('resize', () => { if (state.view === 'c-flame') show(); });
  readAddress();
  startShell(VIEWS, (view) => choose({ view }), show);
  window.shiny = { data, state, change: choose, tablesBuilt, bothStacks };
  document.documentElement.dataset.ready = performance.now().toFixed(0);
}
