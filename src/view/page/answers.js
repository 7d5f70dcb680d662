// SPDX-License-Identifier: Apache-2.0
// The views Pages, Growth, Leaks, Retained, Diagnose and Memory: what page_answers.c has of these verbs. Each
// is an answer about the whole session; the filter chooses among its rows.
import { bytes, count, time, share, noun } from './words.js';
import { byId, cards, make } from './shell.js';
import { drawBars, drawPageMap, drawResident } from './plots.js';
import { BYTES, COUNT, TIME, barColumn, most, nameColumn, showTable, sparkColumn }
  from './tables.js';

const PAGE = 4096, CELLS = 64, LINES = 40;
const SYMPTOMS = { churn: 'Churn', growth: 'Heap growth', utilization: 'Low use of pages',
  hardware: 'Misses of caches and branches', spikes: 'Transient spikes' };
// ---- pages ----

// Cells of a map: as many pages each as make it at most LINES lines of CELLS.
export function mapCells(runs) {
  for (let unit = 1; ; unit *= 2) {
    const cells = new Map(), lines = new Map();
    for (let i = 0, page = 0; i < runs.length; i += 5) {
      page += runs[i];
      for (let left = runs[i + 1]; left && lines.size <= LINES;) {
        const at = Math.floor(page / unit), line = Math.floor(at / CELLS);
        const n = Math.min(left, (at + 1) * unit - page);
        if (!lines.has(line)) lines.set(line, lines.size);
        const cell = cells.get(at) ?? { at, line: lines.get(line), pages: 0, bytes: 0, pinned: 0 };
        cell.pages += n;
        cell.bytes += n * runs[i + 2];
        cell.pinned += n * runs[i + 4];
        cells.set(at, cell);
        page += n;
        left -= n;
      }
    }
    if (lines.size <= LINES)
      return { unit, lines: [...lines.keys()].map((line) => line * CELLS * unit * PAGE),
        cells: [...cells.values()] };
  }
}

function showMap(data, state) {
  const wanted = data.answers.pages.processes.find((row) => String(row.id) === state.process) ??
    (state.process ? undefined : data.answers.pages.processes[0]);
  const map = wanted && data.answers.page_maps.find((one) => one.id === wanted.id);
  byId('map').hidden = !map;
  byId('map-title').textContent = map
    ? `Map of ${wanted.name} ${wanted.pid}, ${noun(wanted.pages, 'page')}` : 'Map';
  if (!map) {
    byId('map-hint').textContent = wanted
      ? 'This process has too many pages for a map here: shinyctl pages --map.'
      : 'The process has no pages at the peak.';
    return;
  }
  const { unit, lines, cells } = mapCells(map.runs);
  byId('map-hint').textContent = (state.process ? ''
    : 'The process with most pages; choose another one in the filter. ') +
    `A cell is ${bytes(unit * PAGE)} of addresses, a line ${bytes(unit * PAGE * CELLS)}; lines ` +
    'without a live block are left out.';
  drawPageMap(byId('map'), lines, cells.map((cell) => ({ x: cell.at % CELLS, line: cell.line,
    use: 100 * cell.bytes / (cell.pages * PAGE),
    text: `0x${(cell.at * unit * PAGE).toString(16)}\n${noun(cell.pages, 'page')}, ` +
      `${share(cell.bytes, cell.pages * PAGE)} in use, ${count(cell.pinned)} pinned` })), CELLS);
}

function pinColumns(title, key, state, change) {
  return [
    nameColumn(title, (row) => change({ [key]: state[key] === row.name ? '' : row.name })),
    { title: 'Idle bytes', field: 'idle', width: 120, ...BYTES },
    { title: 'Pinned pages', field: 'pinned', width: 140, ...COUNT },
    { title: 'Alone on them', field: 'alone', width: 160, ...COUNT },
    { title: 'Pages', field: 'pages', width: 100, ...COUNT },
    { title: 'Live bytes', field: 'bytes', width: 115, ...BYTES },
    { title: 'Blocks', field: 'blocks', width: 100, ...COUNT },
  ];
}

export function pagesOf(data, state) {
  if (!state.process) return data.answers.pages.total;
  return data.answers.pages.processes.find((row) => String(row.id) === state.process);
}

// What the filter's type and call site do not change is drawn once a process.
let pagesDrawn;

function drawPages(data, state, sums) {
  const key = [state.process, document.documentElement.dataset.theme,
    byId('pages-use').clientWidth].join();
  if (key === pagesDrawn) return;
  pagesDrawn = key;
  const tenths = sums.by_use.map((_, i) => `${10 * i} – ${10 * (i + 1)} %`);
  drawBars(byId('pages-use'), tenths, [['pages', sums.by_use]], count, 'pages');
  const sets = [...new Set([...Object.keys(sums.ever), ...Object.keys(sums.fates)])].sort();
  drawBars(byId('pages-sets'), sets, [['what ever lay there', sets.map((s) => sums.ever[s] ?? 0)],
    ['how it ends', sets.map((s) => sums.fates[s] ?? 0)]], count, 'pages');
  showTable('pages-sizes', sums.sizes.map((row, i) => ({ ...row,
    name: row.up_to ? `up to ${bytes(row.up_to)}` : `more than ${bytes(sums.sizes[i - 1].up_to)}`,
  })), [
    { title: 'Size of a block', field: 'name', minWidth: 150, headerSort: false },
    { title: 'Blocks', field: 'blocks', ...COUNT }, { title: 'Bytes', field: 'bytes', ...BYTES },
    { title: 'Pages', field: 'pages', ...COUNT }, { title: 'Alone', field: 'alone', ...COUNT },
    { title: 'Reclaimable', field: 'reclaimable', ...COUNT },
  ], []);
  showMap(data, state);
}

function showPages(data, state, change) {
  const sums = pagesOf(data, state), all = data.answers.pages;
  byId('pages-none').hidden = Boolean(sums?.pages);
  byId('pages-some').hidden = !sums?.pages;
  if (!sums?.pages) return;
  const live = sums.bytes - sums.overlap_bytes;
  const reclaimable = sums.sizes.reduce((a, row) => a + row.reclaimable, 0);
  cards('pages-cards', [
    ['In use', share(live, sums.pages * PAGE), `${bytes(live)} in ${noun(sums.blocks, 'block')}`],
    ['Pages', count(sums.pages), bytes(sums.pages * PAGE)],
    ['Pinned by little', count(sums.pinned), `${share(sums.pinned, sums.pages)} of the pages`],
    ['Reclaimable', count(reclaimable), 'if blocks of each size stood side by side'],
    ['Ranges of 2 MiB', count(sums.ranges),
      `${count(sums.ranges_by_pages.at(-1))} have 90 % of the pages in use`],
    ['Cache lines', count(sums.lines), `of 64 B: ${bytes(sums.lines * 64)}`]]);
  drawPages(data, state, sums);
  for (const [id, title, key, rows] of [['pages-types', 'Type', 'type', all.types],
    ['pages-sites', 'Call site', 'site', all.sites]])
    showTable(id, rows.filter((row) => !state[key] || row.name === state[key]),
      pinColumns(title, key, state, change), [{ column: 'idle', dir: 'desc' }]);
}

// ---- growth ----

function policy(row) {
  if (row.policy === 'geometric') return `× ${row.factor.toFixed(2)}`;
  return row.step_bytes === undefined ? row.policy : `${row.policy}, + ${bytes(row.step_bytes)}`;
}

// Where a page has the first rows of a verb alone.
function showMore(verb, answer) {
  byId(`${verb}-more`).hidden = answer.count === answer.rows.length;
  byId(`${verb}-more`).textContent = `The first ${count(answer.rows.length)} of ` +
    `${count(answer.count)} call sites: shinyctl ${verb} has all.`;
}

function showGrowth(data, state, change) {
  const rows = data.answers.growth.rows.filter((row) => !state.site || row.site === state.site)
    .map((row) => ({ ...row, name: row.site, grows: policy(row) }));
  showMore('growth', data.answers.growth);
  showTable('growth-table', rows, [
    nameColumn('Call site', (row) => change({ site: state.site === row.name ? '' : row.name })),
    { title: 'Waste', field: 'waste', width: 100, ...BYTES },
    barColumn('waste', most(rows, 'waste')),
    { title: 'All its blocks', field: 'cumulative', width: 135, ...BYTES },
    { title: 'By doubling', field: 'doubling', width: 140, ...BYTES },
    { title: 'Largest', field: 'largest', width: 105, ...BYTES },
    { title: 'Buffers', field: 'buffers', width: 100, ...COUNT },
    { title: 'Steps', field: 'steps', width: 95, ...COUNT },
    { title: 'Grows', field: 'grows', width: 160 },
  ], [{ column: 'waste', dir: 'desc' }]);
}

// ---- leaks ----

function showLeaks(data, state, change) {
  const answer = data.answers.leaks;
  showMore('leaks', answer);
  const some = (blocks, sum) => `${noun(blocks, 'block')}, ${bytes(sum)}`;
  byId('leaks-sums').textContent =
    `${some(answer.blocks - answer.abandoned, answer.bytes - answer.abandoned_bytes)}, live at ` +
    `the end; ${some(answer.abandoned, answer.abandoned_bytes)}, abandoned by processes that ` +
    `ended before; ${some(answer.suppressed, answer.suppressed_bytes)}, suppressed.`;
  const rows = answer.rows.filter((row) => !state.site || row.name === state.site)
    .map((row) => ({ ...row, trend: row.grows ? 'grows' : '' }));
  showTable('leaks-table', rows, [
    nameColumn('Call site', (row) => change({ site: state.site === row.name ? '' : row.name })),
    { title: 'Bytes', field: 'bytes', width: 110, ...BYTES },
    barColumn('bytes', most(rows, 'bytes')),
    { title: 'Blocks', field: 'blocks', width: 100, ...COUNT },
    { title: 'Of allocations', field: 'allocs', width: 145, ...COUNT },
    sparkColumn((row) => row.counts, 'Live blocks over time',
      (top) => `at most ${noun(top, 'block')} at one of 40 moments`),
    { title: 'Trend', field: 'trend', width: 90 },
    { title: 'Last made after', field: 'youngest_ns', width: 170, ...TIME },
  ], [{ column: 'bytes', dir: 'desc' }, { column: 'trend', dir: 'desc' }]);
}

// ---- retained ----

export const KEPT_BY = { type: 'type', site: 'call site', member: 'member',
  component: 'component', root: 'root' };

function showRetained(data, state, change) {
  const by = state.kept in KEPT_BY ? state.kept : 'type', answer = data.answers.retained[by];
  const process = data.processes.find((row) => row.id === answer.process);
  byId('kept').value = by;
  byId('retained-facts').textContent =
    `Heap snapshot ${answer.snapshot}, of ${process ? process.name : 'process'} ${answer.pid}, ` +
    `after ${time(answer.at_ns)}: roots reach ${noun(answer.blocks, 'block')}, ` +
    `${bytes(answer.bytes)}; none reaches ${noun(answer.unreachable, 'block')}, ` +
    `${bytes(answer.unreachable_bytes)}.`;
  byId('retained-more').hidden = answer.count === answer.rows.length;
  byId('retained-more').textContent = `The first ${count(answer.rows.length)} of ` +
    `${count(answer.count)} rows: shinyctl retained --by ${by} has all.`;
  const chosen = by in state ? state[by] : '';
  const rows = answer.rows.filter((row) => !chosen || row.name === chosen);
  const own = by === 'root' ? [] : [
    { title: 'Own bytes', field: 'bytes', width: 120, ...BYTES },
    { title: 'Own blocks', field: 'own_blocks', width: 125, ...COUNT }];
  const pick = (row) => change(by in state ? { [by]: chosen === row.name ? '' : row.name } : {});
  const name = KEPT_BY[by][0].toUpperCase() + KEPT_BY[by].slice(1);
  showTable('retained-table', rows.map((row) => ({ ...row, own_blocks: row.blocks })), [
    nameColumn(name, pick),
    { title: 'Retained', field: 'retained_bytes', width: 120, ...BYTES },
    barColumn('retained_bytes', answer.bytes),
    { title: 'Blocks', field: 'retained', width: 110, ...COUNT },
    ...own,
  ], [{ column: 'retained_bytes', dir: 'desc' }]);
}

// ---- diagnose ----

function symptom(row, number, change) {
  const article = make('article', '', 'symptom'), heading = make('h3', '');
  const facts = make('dl', '', 'facts');
  heading.append(`${number}. ${SYMPTOMS[row.name] ?? row.name}: `,
    make('span', row.verdict, `verdict ${row.verdict}`));
  for (const [title, text] of [['measured', row.measure], ['because', row.cause],
    ['do', row.advice], ['number', row.support], ['missing', row.missing],
    ['more', row.verb && row.verdict !== 'no' ? `shinyctl ${row.verb}` : '']])
    if (text) facts.append(make('dt', title), make('dd', text));
  article.append(heading, facts);
  if (!row.rows.length) return article;
  const list = make('ul', '', 'culprits');
  list.append(...row.rows.map((one) => {
    const item = make('li', ''), button = make('button', one.name, 'name');
    button.type = 'button';
    button.addEventListener('click', () => change({ view: 'sites', site: one.name }));
    item.append(button, ` ${noun(one.blocks, 'block')}, ${bytes(one.bytes)}; ${one.text}`);
    return item;
  }));
  article.append(list);
  return article;
}

function showDiagnose(data, state, change) {
  byId('symptoms').replaceChildren(...data.answers.diagnose.symptoms.map((row, i) =>
    symptom(row, i + 1, change)));
}

// ---- memory ----

function showMemory(data, state, change) {
  const processes = data.answers.memory.processes.filter((row) =>
    !state.process || String(row.id) === state.process);
  byId('memory-none').hidden = processes.length > 0;
  byId('memory-some').hidden = !processes.length;
  if (!processes.length) return;
  drawResident(byId('resident'), data, processes);
  const owners = new Map();
  for (const process of processes)
    for (const row of process.owners) {
      const sum = owners.get(row.owner) ?? { name: row.owner, resident: 0, live_bytes: 0 };
      sum.resident += row.resident;
      sum.live_bytes += row.live_bytes;
      owners.set(row.owner, sum);
    }
  const bars = [...owners.values()].sort((a, b) => b.resident - a.resident);
  drawBars(byId('owners'), bars.map((row) => row.name),
    [['resident', bars.map((row) => row.resident)], ['live', bars.map((row) => row.live_bytes)]],
    bytes, 'bytes');
  const rows = processes.flatMap((process) => process.owners.flatMap((owner) =>
    owner.details.map((row) => ({ ...row, id: process.id, process: `${process.name} ${process.pid}`,
      name: row.detail ? `${owner.owner}: ${row.detail}` : owner.owner }))));
  showTable('memory-table', rows, [
    nameColumn('Process', (row) =>
      change({ process: state.process === String(row.id) ? '' : String(row.id) }), 'process'),
    { title: 'Owner', field: 'name', widthGrow: 6, minWidth: 240 },
    { title: 'Resident', field: 'resident', width: 110, ...BYTES },
    barColumn('resident', most(rows, 'resident')),
    { title: 'Private', field: 'private', width: 105, ...BYTES },
    { title: 'Live', field: 'live_bytes', width: 100, ...BYTES },
    { title: 'Committed', field: 'committed', width: 125, ...BYTES },
    { title: 'Reserved', field: 'reserved', width: 115, ...BYTES },
    { title: 'Segments', field: 'segments', width: 115, ...COUNT },
  ], [{ column: 'resident', dir: 'desc' }]);
  byId('memory-notes').textContent = 'Each process at its last sample; a sample every ' +
    `${time(data.answers.memory.period_ns)}. The filter's process chooses. Processes that ended ` +
    `before their first sample: ${count(data.answers.memory.unseen)}.`;
}

export const answers = { pages: showPages, growth: showGrowth, leaks: showLeaks,
  retained: showRetained, diagnose: showDiagnose, memory: showMemory };
