// SPDX-License-Identifier: Apache-2.0
// What page.html does: reads the session's data (page.c, page_data.c), keeps the filter in the
// address, adds up what the filter leaves (cube.js), and shows it. Names are text everywhere: no
// library is given HTML.
import { Cube, LIVE } from './cube.js';
import { bytes, count, time, share } from './words.js';
import { drawTimeline, drawTreemap, drawHistogram, drawScatter, resizeAll } from './plots.js';
import { drawFlame, searchFlame, zoomOut } from './flame.js';
import { BYTES, COUNT, TIME, barColumn, most, nameColumn, showTable } from './tables.js';
import { answers, cards, mapCells, pagesOf } from './answers.js';
import './page.css';

const MEASURES = { live: 'live at the end', bytes: 'bytes allocated', allocs: 'allocations',
  peak: 'live at the peak', short: 'bytes of short-lived blocks' };
const VIEWS = { overview: 'Overview', flame: 'Flame graph', types: 'Types', sites: 'Call sites',
  lifetimes: 'Lifetimes', pages: 'Pages', growth: 'Growth', leaks: 'Leaks',
  diagnose: 'Diagnose', memory: 'Memory', processes: 'Processes', limits: 'Loss' };
const byId = (id) => document.getElementById(id);
const state = {};
let data, cube;

// A session that is being recorded has no answers: their views are left out.
const hasView = (view) => view in VIEWS && (data.answers || !(view in answers));

async function readData() {
  const packed = Uint8Array.from(atob(byId('data').textContent.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).json();
}

// ---- the filter in the address ----

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
    measure: words.get('measure') in MEASURES ? words.get('measure') : 'live',
    process: words.get('process') ?? '', component: words.get('component') ?? '',
    type: words.get('type') ?? '', site: words.get('site') ?? '', search: words.get('search') ?? '',
    from: Number.isNaN(from) ? 0 : from, to: Number.isNaN(to) ? last : to,
    icicle: words.has('icicle'), invert: words.has('invert'),
  });
  if (state.to <= state.from) Object.assign(state, { from: 0, to: last });
}

function writeAddress() {
  const words = new URLSearchParams();
  if (state.view !== 'overview') words.set('view', state.view);
  if (state.measure !== 'live') words.set('measure', state.measure);
  for (const key of ['process', 'component', 'type', 'site', 'search'])
    if (state[key]) words.set(key, state[key]);
  if (state.from) words.set('from', state.from * data.interval_ns);
  if (state.to < cube.intervals) words.set('to', state.to * data.interval_ns);
  for (const key of ['icicle', 'invert']) if (state[key]) words.set(key, '1');
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

function fillOptions(select, rows) {
  select.replaceChildren(...rows.map(([value, text]) => {
    const option = document.createElement('option');
    option.value = value;
    option.textContent = text;
    return option;
  }));
}

function showFilter() {
  byId('f-process').value = state.process;
  byId('f-component').value = state.component;
  byId('f-type').value = state.type;
  byId('f-site').value = state.site;
  byId('f-from').value = state.from;
  byId('f-to').value = state.to;
  const at = (n) => time(Math.min(n * data.interval_ns, data.duration_ns));
  byId('f-time').textContent = cube.isTimed(state)
    ? `allocated from ${at(state.from)} to ${at(state.to)}` : 'whole session';
  byId('measure').value = state.measure;
  byId('search').value = state.search;
  byId('icicle').checked = state.icicle;
  byId('invert').checked = state.invert;
  for (const button of byId('nav').children)
    if (button.dataset.view === state.view) button.setAttribute('aria-current', 'page');
    else button.removeAttribute('aria-current');
  for (const section of document.querySelectorAll('main section'))
    section.classList.toggle('shown', section.id === state.view);
}

function showCards(sums) {
  const all = cube.total;
  cards('cards', [
    ['Live at the end', bytes(sums.live_bytes), `${count(sums.live)} blocks`],
    ['Allocated', bytes(sums.bytes), `${count(sums.allocs)} allocations`],
    ['Freed', count(sums.freed), 'blocks'],
    ['Peak', bytes(sums.timed ? NaN : sums.peak_bytes), sums.timed
      ? 'known of the whole session only' : `after ${time(data.peak_ns)}`],
    ['Half of the blocks live less than', time(sums.median), 'of those that ended'],
    ['Of the session', share(sums.bytes, all.bytes), 'of all bytes allocated']]);
}

function sumColumns(most) {
  return [
    { title: 'Live bytes', field: 'live_bytes', width: 120, ...BYTES },
    barColumn('live_bytes', most),
    { title: 'Live', field: 'live', width: 100, ...COUNT },
    { title: 'Bytes', field: 'bytes', width: 110, ...BYTES },
    { title: 'Allocations', field: 'allocs', width: 135, ...COUNT },
    { title: 'Median lifetime', field: 'median', width: 165, ...TIME },
  ];
}

const SORT = [{ column: 'bytes', dir: 'desc' }, { column: 'live_bytes', dir: 'desc' }];

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
    drawFlame(byId('flame-graph'), cube.stacks(picked, state.measure, state.invert), state,
      state.measure === 'allocs' ? count : bytes, (text) => { byId('frame').textContent = text; });
    search();
    byId('whole').hidden = !(picked.timed && state.measure === 'peak');
    const rows = cube.functions(picked, state.measure);
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
      ...sumColumns(most(rows, 'live_bytes')),
      { title: 'Confidence', field: 'confidence', width: 130 },
      { title: 'From', field: 'rule', width: 120 },
    ], SORT);
  },
  sites(picked) {
    const rows = cube.rows(picked, 'site');
    showTable('sites-table', rows, [
      nameColumn('Call site', (row) => change({ site: state.site === row.name ? '' : row.name })),
      ...sumColumns(most(rows, 'live_bytes')),
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
      ...sumColumns(most(rows, 'live_bytes')),
      { title: 'Ending', field: 'ending', width: 110 },
    ], SORT);
  },
  limits() {
    showTable('losses-table', data.losses, [
      { title: 'What', field: 'text', widthGrow: 4, minWidth: 200 },
      { title: 'Count', field: 'count', width: 120, ...COUNT },
      { title: 'Loss', field: 'loss', width: 90, formatter: (c) => (c.getValue() ? 'yes' : 'no') },
      { title: 'Advice', field: 'advice', widthGrow: 3, minWidth: 150 },
    ], []);
    const notes = [`Times are cut into ${data.intervals} intervals of ${time(data.interval_ns)}.`,
      `Made by shinyctl ${data.version}.`];
    if (data.merged)
      notes.unshift(`${count(data.merged)} stacks of little weight are shown as "(smaller ` +
        'stacks)" of their process, component and type. All sums have them.');
    byId('notes').replaceChildren(...notes.map((text) => {
      const item = document.createElement('li');
      item.textContent = text;
      return item;
    }));
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

function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
  byId('theme').setAttribute('aria-pressed', String(dark));
  byId('theme').textContent = dark ? 'Light' : 'Dark';
  if (cube) show();
}

function start() {
  document.title = `${data.name} – Shiny`;
  byId('title').textContent = data.command || data.name;
  byId('subtitle').textContent = `${data.name}, ${time(data.duration_ns)}, ` +
    `${count(data.processes.length)} process${data.processes.length === 1 ? '' : 'es'}`;
  const lost = data.losses.filter((row) => row.loss);
  byId('loss').className = lost.length || !data.complete ? 'bad' : '';
  byId('loss').textContent = (data.complete ? '' : 'The recording was not finished. ') +
    (lost.length ? `Lost: ${lost.map((row) => `${count(row.count)} ${row.text}`).join('; ')}`
      : 'Lost: nothing');
  byId('headlines').replaceChildren(...data.headlines.map((row) => {
    const item = document.createElement('li');
    item.textContent = row.text + (row.verb ? ` (shinyctl ${row.verb})` : '');
    return item;
  }));
  fillOptions(byId('f-process'), [['', 'all'], ...data.processes.map((row) =>
    [String(row.id), `${row.name} ${row.pid}`])]);
  fillOptions(byId('f-component'), [['', 'all'], ...cube.usedComponents().map((name) =>
    [name, name])]);
  fillOptions(byId('types-list'), cube.usedNames('type').map((name) => [name, '']));
  fillOptions(byId('sites-list'), cube.usedNames('site').map((name) => [name, '']));
  fillOptions(byId('measure'), Object.entries(MEASURES));
  byId('f-from').max = byId('f-to').max = cube.intervals;
  byId('nav').replaceChildren(...Object.entries(VIEWS).filter(([view]) => hasView(view)).map(([view, text]) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.dataset.view = view;
    button.textContent = text;
    button.addEventListener('click', () => change({ view }));
    return button;
  }));
  for (const [id, key] of [['f-process', 'process'], ['f-component', 'component'],
    ['f-type', 'type'], ['f-site', 'site'], ['measure', 'measure'], ['search', 'search']])
    byId(id).addEventListener('change', (event) => change({ [key]: event.target.value }));
  for (const id of ['icicle', 'invert'])
    byId(id).addEventListener('change', (event) => change({ [id]: event.target.checked }));
  byId('f-from').addEventListener('input', (event) =>
    change({ from: Math.min(Number(event.target.value), state.to - 1) }));
  byId('f-to').addEventListener('input', (event) =>
    change({ to: Math.max(Number(event.target.value), state.from + 1) }));
  byId('filter').addEventListener('submit', (event) => event.preventDefault());
  byId('reset').addEventListener('click', () => change({ process: '', component: '', type: '',
    site: '', search: '', from: 0, to: cube.intervals }));
  byId('zoom-out').addEventListener('click', zoomOut);
  byId('skip').addEventListener('click', (event) => {
    event.preventDefault();
    byId('main-start').focus();
  });
  byId('theme').addEventListener('click', () =>
    setTheme(document.documentElement.dataset.theme !== 'dark'));
  addEventListener('hashchange', () => { readAddress(); show(); });
  addEventListener('resize', () => { resizeAll(); if (state.view === 'flame') show(); });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change',
    (event) => setTheme(event.matches));
}

async function main() {
  data = await readData();
  cube = new Cube(data);
  start();
  readAddress();
  setTheme(matchMedia('(prefers-color-scheme: dark)').matches);
  // for tests and for people with a console: what the page shows, as numbers
  window.shiny = { data, cube, state, sums: (part) => cube.sums(cube.pick({ ...state, ...part })),
    rows: (by, part) => cube.rows(cube.pick({ ...state, ...part }), by),
    pages: () => pagesOf(data, state), mapCells, LIVE };
  document.documentElement.dataset.ready = performance.now().toFixed(0);
}

main();
