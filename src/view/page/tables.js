// SPDX-License-Identifier: Apache-2.0
// The tables, by Tabulator. Cells are text; what is no text is an element that page.js makes.
import { Tabulator, FormatModule, SortModule, ResizeColumnsModule } from 'tabulator-tables';
import { bytes, change, count, time } from './words.js';
import { byId } from './shell.js';

Tabulator.registerModule([FormatModule, SortModule, ResizeColumnsModule]);
const tables = new Map();
let building = Promise.resolve();

// Until the tables that were shown are there: Tabulator builds them in a task of its own.
export const tablesBuilt = () => building;

// Tabulator sorts by the mouse alone: Enter and the space bar on a column's head do what a click
// does.
function sortByKeys(table, column) {
  const head = column.getElement(), field = column.getField();
  head.tabIndex = 0;
  head.addEventListener('keydown', (event) => {
    if (event.target !== head || !['Enter', ' '].includes(event.key)) return;
    event.preventDefault();
    const [sorted] = table.getSorters();
    table.setSort(field, sorted?.field === field && sorted.dir === 'asc' ? 'desc' : 'asc');
  });
}

// Long tables scroll: one that has its view to itself is as high as the window allows.
function heightOf(id, rows) {
  if (rows.length <= 14) return undefined;
  const alone = byId(id).closest('section').querySelectorAll('[id$=-table], .plot').length === 1;
  return alone ? 'max(460px, calc(100vh - 15rem))' : 460;
}

// On a narrow screen columns are as wide as a number, so that a name and two of them fit, without
// bars.
function fitting(columns) {
  if (!matchMedia('(max-width: 600px)').matches) return columns;
  return columns.filter(({ field, formatter }) => field !== 'share' || !formatter)
    .map((column, i) => ({ ...column,
      ...(column.width && { width: Math.min(column.width, 92) }),
      ...(column.minWidth && { minWidth: i === 0 && column.formatter ? 182
        : Math.min(column.minWidth, 112) }) }));
}

export function showTable(id, rows, columns, sort) {
  tables.get(id)?.destroy();
  const table = new Tabulator(`#${id}`, {
    data: rows, columns: fitting(columns), initialSort: sort, layout: 'fitColumns',
    height: heightOf(id, rows),
    placeholder: 'nothing', columnDefaults: { resizable: true },
  });
  tables.set(id, table);
  const before = building;
  building = new Promise((resolve) => {
    table.on('tableBuilt', resolve);
    table.on('tableDestroyed', resolve);
  }).then(() => before);
  // the element that scrolls can have the focus: it is the group of rows, not what is in it
  table.on('tableBuilt', () => {
    table.element.querySelector('.tabulator-tableholder').setAttribute('role', 'rowgroup');
    table.element.querySelector('.tabulator-table').setAttribute('role', 'presentation');
    table.element.setAttribute('aria-labelledby',
      table.element.closest('section').getAttribute('aria-labelledby'));
    for (const column of table.getColumns())
      if (column.getDefinition().headerSort !== false) sortByKeys(table, column);
  });
}

// ---- columns ----

export const BYTES = { formatter: (cell) => bytes(cell.getValue()), hozAlign: 'right', sorter: 'number' };
export const COUNT = { formatter: (cell) => count(cell.getValue()), hozAlign: 'right', sorter: 'number' };
export const TIME = { formatter: (cell) => time(cell.getValue()), hozAlign: 'right', sorter: 'number' };

// A change, in words of its own; sorts by the number.
export function signed(words) {
  return { formatter: (cell) => change(0, cell.getValue(), words), hozAlign: 'right',
    sorter: 'number' };
}

export function nameColumn(title, pick, field = 'name') {
  return { title, field, widthGrow: 5, minWidth: 180, formatter: (cell) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'name';
    button.textContent = cell.getValue();
    button.title = cell.getValue();
    button.addEventListener('click', () => pick(cell.getRow().getData()));
    return button;
  } };
}

export function barColumn(field, most) {
  return { title: 'Share', field: 'share', width: 84, sorter: 'number', formatter: (cell) => {
    const bar = document.createElement('span');
    bar.className = 'bar';
    bar.style.width = (most ? 100 * cell.getRow().getData()[field] / most : 0) + '%';
    return bar;
  } };
}

const SPARK = { width: 84, height: 18 };

// A line of values, from 0 to the most of them, which `tell` says in words.
function drawSpark(values, tell) {
  const top = values.reduce((a, b) => Math.max(a, b), 1);
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const line = document.createElementNS('http://www.w3.org/2000/svg', 'polyline');
  const points = Array.from(values, (value, i) =>
    `${(SPARK.width * (i + 1) / values.length).toFixed(1)},` +
    (SPARK.height - 1 - (SPARK.height - 2) * Math.max(0, value) / top).toFixed(1));
  line.setAttribute('points', points.join(' '));
  svg.append(line);
  svg.setAttribute('class', 'spark');
  svg.setAttribute('viewBox', `0 0 ${SPARK.width} ${SPARK.height}`);
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', tell(top));
  return svg;
}

// `series(row)` is worked out for the rows that are shown, and no others.
export function sparkColumn(series, title = 'Over time',
  tell = (top) => `at most ${bytes(top)} live at the end of an interval`) {
  return { title, field: 'series', width: title.length > 9 ? 180 : 105, headerSort: false,
    formatter: (cell) => drawSpark(series(cell.getRow().getData()), tell) };
}

export const most = (rows, field) => rows.reduce((a, row) => Math.max(a, row[field]), 0);
