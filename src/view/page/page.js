// SPDX-License-Identifier: Apache-2.0
// What page.html does: reads the session's data (page.c, page_data.c), keeps the filter in the
// address, adds up what the filter leaves (cube.js), and shows it. Names are text everywhere: no
// library is given HTML.
import { Cube, LIVE, NO_TAG } from './cube.js';
import { bytes, count, time, share, noun } from './words.js';
import { drawTimeline, drawTreemap, drawHistogram, drawScatter, resizeAll } from './plots.js';
import { insideOf } from './boxes.js';
import { colourBy, drawFlame, searchFlame, zoomOut } from './flame.js';
import { BYTES, COUNT, TIME, barColumn, most, nameColumn, showTable, sparkColumn, tablesBuilt }
  from './tables.js';
import { answers, KEPT_BY, mapCells, pagesOf } from './answers.js';
import { LOSS_COLUMNS, byId, cards, fillOptions, fillList, make, showLosses, showNav, startShell }
  from './shell.js';
import { startCompare } from './compare.js';
import './page.css';

const MEASURES = { live: 'live at the end', bytes: 'bytes allocated', allocs: 'allocations',
  peak: 'live at the peak', short: 'bytes of short-lived blocks' };
const VIEWS = { overview: 'Overview', flame: 'Flame graph', types: 'Types', sites: 'Call sites',
  lifetimes: 'Lifetimes', pages: 'Pages', growth: 'Growth', leaks: 'Leaks',
  retained: 'Retained', diagnose: 'Diagnose', memory: 'Memory', processes: 'Processes',
  limits: 'Loss' };
const LEGEND = 8; // components
const SWITCHES = ['icicle', 'invert', 'fold'];
const state = {};
const opened = new Set(); // boxes of the flame graph
let data, cube, colourOf;

// A session that is being recorded has no answers, and one without a heap snapshot does not have
// all: their views are left out.
const hasView = (view) => view in VIEWS && (!(view in answers) || data.answers?.[view]);

async function readData() {
  const text = atob(byId('data').textContent.trim()), packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).json();
}

// ---- the filter in the address ----

// The moment that the page begins with, as `report` does: the peak, where it is well above the end.
const firstMeasure = () =>
  cube.total.peak_bytes >= 1.2 * cube.total.live_bytes ? 'peak' : 'live';

function readAddress() {
  const words = new URLSearchParams(location.hash.slice(1));
  const number = (key, most) => {
    const value = Math.round(Number(words.get(key) ?? NaN) / data.interval_ns);
    return Number.isFinite(value) ? Math.max(0, Math.min(most, value)) : NaN;
  };
  const last = cube.intervals;
  const from = number('from', last), to = number('to', last);
  Object.assign(state, {
    view: hasView(words.get('view')) ? words.get('view') : 'overview',
    measure: words.get('measure') in MEASURES ? words.get('measure') : firstMeasure(),
    process: words.get('process') ?? '', component: words.get('component') ?? '',
    type: words.get('type') ?? '', site: words.get('site') ?? '',
    thread: words.get('thread') ?? '', tag: words.get('tag') ?? '',
    search: words.get('search') ?? '',
    from: Number.isNaN(from) ? 0 : from, to: Number.isNaN(to) ? last : to,
    icicle: words.has('icicle'), invert: words.has('invert'), fold: words.has('fold'),
    kept: words.get('kept') ?? 'type',
  });
  if (state.to <= state.from) Object.assign(state, { from: 0, to: last });
}

function writeAddress() {
  const words = new URLSearchParams();
  if (state.view !== 'overview') words.set('view', state.view);
  if (state.measure !== firstMeasure()) words.set('measure', state.measure);
  for (const key of ['process', 'thread', 'component', 'tag', 'type', 'site', 'search'])
    if (state[key]) words.set(key, state[key]);
  if (state.from) words.set('from', state.from * data.interval_ns);
  if (state.to < cube.intervals) words.set('to', state.to * data.interval_ns);
  for (const key of SWITCHES) if (state[key]) words.set(key, '1');
  if (state.kept !== 'type') words.set('kept', state.kept);
  const next = '#' + words;
  if (location.hash !== next && (location.hash || words.size))
    history.replaceState(null, '', next);
}

function change(part) {
  Object.assign(state, part);
  writeAddress();
  show();
}

// ---- views ----

function showFilter() {
  byId('f-process').value = state.process;
  byId('f-thread').value = state.thread;
  byId('f-component').value = state.component;
  byId('f-tag').value = state.tag;
  byId('f-type').value = state.type;
  byId('f-site').value = state.site;
  byId('f-from').value = state.from;
  byId('f-to').value = state.to;
  const at = (n) => time(Math.min(n * data.interval_ns, data.duration_ns));
  byId('f-time').textContent = cube.isTimed(state)
    ? `allocated from ${at(state.from)} to ${at(state.to)}` : 'whole session';
  byId('measure').value = state.measure;
  byId('search').value = state.search;
  for (const key of SWITCHES) byId(key).checked = state[key];
  showNav(state.view);
}

function showCards(sums) {
  const all = cube.total, whole = sums.allocs === all.allocs;
  // a margin is that of the whole session, of a sample; a line may end before it, not in it
  const about = (key) => bytes(sums[key]) + (whole ? data.margins[key] : '')
    .replace(/(?<=\S) /g, '\u00a0');
  const end = ['Live at the end', about('live_bytes'), `${noun(sums.live, 'block')}`];
  const peak = ['Peak', sums.counted ? bytes(NaN) : about('peak_bytes'), sums.counted
    ? 'known of the whole session only' : `after ${time(data.peak_ns)}`];
  cards('cards', [
    ...firstMeasure() === 'peak' ? [peak, end] : [end, peak],
    ['Allocated', about('bytes'), `${noun(sums.allocs, 'allocation')}`],
    ['Freed', count(sums.freed), data.kept_from_ns
      ? `blocks since ${time(data.kept_from_ns)}, of which events were kept` : 'blocks'],
    ['Half of the blocks live less than', time(sums.median), 'of those that ended'],
    ['Of the session', share(sums.bytes, all.bytes), 'of all bytes allocated']]);
}

function sumColumns(rows, picked) {
  return [
    { title: 'Live bytes', field: 'live_bytes', width: 120, ...BYTES },
    barColumn('live_bytes', most(rows, 'live_bytes')),
    sparkColumn((row) => cube.series(picked, row.samples)),
    { title: 'Live', field: 'live', width: 85, ...COUNT },
    { title: 'Bytes', field: 'bytes', width: 95, ...BYTES },
    { title: 'Allocations', field: 'allocs', width: 132, ...COUNT },
    { title: 'Median life', field: 'median', width: 132, ...TIME },
  ];
}

const SORT = [{ column: 'bytes', dir: 'desc' }, { column: 'live_bytes', dir: 'desc' }];

// The components whose blocks the graph shows, each in the colour of its functions.
function showLegend(owners, words) {
  const rest = owners.slice(LEGEND), sum = rest.reduce((all, [, value]) => all + value, 0);
  byId('flame-legend').replaceChildren(...owners.slice(0, LEGEND).map(([name, value]) => {
    const item = make('li', ''), button = make('button', name, 'name'), tone = make('span', '');
    tone.style.background = colourOf(name);
    button.type = 'button';
    button.addEventListener('click', () =>
      change({ component: state.component === name ? '' : name }));
    item.append(tone, button, ` ${words(value)}`);
    return item;
  }), ...rest.length ? [make('li', `${noun(rest.length, 'other')} ${words(sum)}`)] : []);
}

const draw = {
  overview(picked) {
    showCards(cube.sums(picked));
    drawTimeline(byId('timeline'), data, cube, picked, state,
      (from, to) => change({ from, to }));
    const field = state.measure === 'short' ? 'bytes' : state.measure;
    byId('tree-title').textContent =
      `By process, component and type: ${MEASURES[field]}`;
    drawTreemap(byId('treemap'), cube.tree(picked, field), field === 'allocs' ? count : bytes,
      (part) => change(part));
  },
  flame(picked) {
    const root = cube.stacks(picked, state.measure, state.invert, state.fold, opened);
    const words = state.measure === 'allocs' ? count : bytes;
    drawFlame(byId('flame-graph'), root, {
      icicle: state.icicle,
      label: (node) => `${node.name}  ${words(node.value)}, ${share(node.value, root.value)}` +
        (node.component ? `  ${node.component}` : '') + insideOf(node) +
        (node.file ? `  ${node.file}:${node.line}` : ''),
      colour: (node) => colourOf(node.component, node.name),
      open: ({ id }) => { opened.add(id); show(); },
      tell: (text) => { byId('frame').textContent = text; },
    });
    showLegend(cube.owners(picked, state.measure), words);
    search();
    byId('whole').hidden = !(picked.counted && state.measure === 'peak');
    const rows = cube.functions(picked, state.measure, state.fold);
    const value = state.measure === 'allocs' ? COUNT : BYTES;
    showTable('functions-table', rows, [
      nameColumn('Function', (row) => change({ search: row.name })),
      { title: 'With callees', field: 'all', width: 140, ...value },
      barColumn('all', most(rows, 'all')),
      { title: 'Itself', field: 'self', width: 120, ...value },
      { title: 'Source', field: 'source', widthGrow: 2, minWidth: 120 },
    ], [{ column: 'all', dir: 'desc' }]);
  },
  types(picked) {
    const rows = cube.rows(picked, 'type');
    showTable('types-table', rows, [
      nameColumn('Type', (row) => change({ type: state.type === row.name ? '' : row.name })),
      ...sumColumns(rows, picked),
      { title: 'Confidence', field: 'confidence', width: 122 },
      { title: 'From', field: 'rule', width: 105 },
    ], SORT);
  },
  sites(picked) {
    const rows = cube.rows(picked, 'site');
    showTable('sites-table', rows, [
      nameColumn('Call site', (row) => change({ site: state.site === row.name ? '' : row.name })),
      ...sumColumns(rows, picked),
    ], SORT);
  },
  lifetimes(picked) {
    drawHistogram(byId('histogram'), cube.ages(picked));
    drawScatter(byId('scatter'), cube.points(picked));
  },
  processes(picked) {
    const rows = cube.rows(picked, 'process');
    showTable('processes-table', rows, [
      nameColumn('Process', (row) =>
        change({ process: state.process === String(row.id) ? '' : String(row.id) })),
      { title: 'Id', field: 'id', width: 70, ...COUNT },
      { title: 'Pid', field: 'pid', width: 90, sorter: 'number', hozAlign: 'right' },
      ...sumColumns(rows, picked),
      { title: 'Ending', field: 'ending', width: 110 },
    ], SORT);
  },
  limits() {
    showTable('losses-table', data.losses, [
      ...LOSS_COLUMNS,
      { title: 'Advice', field: 'advice', widthGrow: 3, minWidth: 150 },
    ], []);
    const notes = [`Times are cut into ${data.intervals} intervals of ${time(data.interval_ns)}.`,
      `Made by shinyctl ${data.version}.`];
    if (data.folded_rows)
      notes.unshift(`${count(data.folded_rows)} stacks are shown as "(others)", without a process ` +
        'and a type: those whose process, component and type together have little weight. All ' +
        'sums have them.');
    if (data.folded_stacks)
      notes.unshift(`${count(data.folded_stacks)} stacks of little weight are shown as "(smaller ` +
        'stacks)" of their process, component and type. All sums have them.');
    if (data.makers_folded)
      notes.unshift('The session has too many threads and tags for the filter.');
    fillList('notes', notes);
  },
};

function search() {
  const found = searchFlame(state.search);
  byId('found').textContent = state.search ? `${count(found)} of these match` : '';
}

function show() {
  const started = performance.now();
  showFilter();
  if (answers[state.view]) answers[state.view](data, state, change);
  else draw[state.view](cube.pick(state));
  document.documentElement.dataset.filterMs = (performance.now() - started).toFixed(1);
}

// ---- start ----

function start() {
  document.title = `${data.name} – Shiny`;
  byId('title').textContent = data.name;
  byId('command').textContent = data.command;
  byId('subtitle').textContent = `${time(data.duration_ns)}, ${count(data.process_count)} ` +
    `process${data.process_count === 1 ? '' : 'es'}: ${data.command}`;
  showLosses([data]);
  fillList('headlines', data.headlines.map((row) =>
    row.text + (row.verb ? ` (shinyctl ${row.verb})` : '')));
  fillOptions(byId('f-process'), [['', 'all'], ...data.processes.map((row) =>
    [String(row.id), `${row.name} ${row.pid}`])]);
  fillOptions(byId('f-component'), [['', 'all'], ...cube.usedComponents().map((name) =>
    [name, name])]);
  fillOptions(byId('f-thread'), [['', 'all'], ...data.threads.map(([id, name, process]) =>
    [String(id), `${name || '(no name)'}, ${cube.processName(process)}`])]);
  fillOptions(byId('f-tag'), [['', 'all'], [NO_TAG, NO_TAG],
    ...data.tags.map(([, name]) => [name, name])]);
  byId('f-thread').parentElement.hidden = data.threads.length < 2;
  byId('f-tag').parentElement.hidden = !data.tags.length;
  fillOptions(byId('types-list'), cube.usedNames('type').map((name) => [name, '']));
  fillOptions(byId('sites-list'), cube.usedNames('site').map((name) => [name, '']));
  fillOptions(byId('measure'), Object.entries(MEASURES));
  fillOptions(byId('kept'), Object.entries(KEPT_BY));
  byId('f-from').max = byId('f-to').max = cube.intervals;
  for (const [id, key] of [['f-process', 'process'], ['f-thread', 'thread'],
    ['f-component', 'component'], ['f-tag', 'tag'], ['f-type', 'type'], ['f-site', 'site'],
    ['measure', 'measure'], ['search', 'search']])
    byId(id).addEventListener('change', (event) => change({ [key]: event.target.value }));
  for (const id of SWITCHES)
    byId(id).addEventListener('change', (event) => change({ [id]: event.target.checked }));
  byId('kept').addEventListener('change', (event) => change({ kept: event.target.value }));
  byId('f-from').addEventListener('input', (event) =>
    change({ from: Math.min(Number(event.target.value), state.to - 1) }));
  byId('f-to').addEventListener('input', (event) =>
    change({ to: Math.max(Number(event.target.value), state.from + 1) }));
  byId('filter').addEventListener('submit', (event) => event.preventDefault());
  byId('reset').addEventListener('click', () => change({ process: '', thread: '', component: '',
    tag: '', type: '', site: '', search: '', from: 0, to: cube.intervals }));
  byId('zoom-out').addEventListener('click', () => { opened.clear(); zoomOut(); show(); });
  addEventListener('hashchange', () => { readAddress(); show(); });
  addEventListener('resize', () => { resizeAll(); if (state.view === 'flame') show(); });
}

async function main() {
  data = await readData();
  if (data.compared) {
    startCompare(data);
    return;
  }
  cube = new Cube(data);
  colourOf = colourBy(cube.owners(cube.pick({ from: 0, to: cube.intervals }), firstMeasure())
    .map(([name]) => name));
  start();
  readAddress();
  startShell(Object.fromEntries(Object.entries(VIEWS).filter(([view]) => hasView(view))),
    (view) => change({ view }), show);
  // for tests and for people with a console: what the page shows, as numbers
  window.shiny = { data, cube, state, change, tablesBuilt, sums: (part) => cube.sums(cube.pick({ ...state, ...part })),
    rows: (by, part) => cube.rows(cube.pick({ ...state, ...part }), by)
      .map(({ samples, ...row }) => row),
    pages: () => pagesOf(data, state), mapCells, LIVE };
  document.documentElement.dataset.ready = performance.now().toFixed(0);
}

main();
