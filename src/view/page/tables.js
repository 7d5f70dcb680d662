// SPDX-License-Identifier: Apache-2.0
// The tables, by Tabulator. Cells are text; what is no text is an element that page.js makes.
import { Tabulator, FormatModule, SortModule, ResizeColumnsModule } from 'tabulator-tables';
import { bytes, count, time } from './words.js';

Tabulator.registerModule([FormatModule, SortModule, ResizeColumnsModule]);
const tables = new Map();

export function showTable(id, rows, columns, sort) {
  tables.get(id)?.destroy();
  const table = new Tabulator(`#${id}`, {
    data: rows, columns, initialSort: sort, layout: 'fitColumns',
    height: rows.length > 14 ? 460 : undefined,
    placeholder: 'nothing', columnDefaults: { resizable: true },
  });
  tables.set(id, table);
  // the element that scrolls can have the focus: it is the group of rows, not what is in it
  table.on('tableBuilt', () => {
    table.element.querySelector('.tabulator-tableholder').setAttribute('role', 'rowgroup');
    table.element.querySelector('.tabulator-table').setAttribute('role', 'presentation');
    table.element.setAttribute('aria-labelledby',
      table.element.closest('section').getAttribute('aria-labelledby'));
  });
}

// ---- columns ----

export const BYTES = { formatter: (cell) => bytes(cell.getValue()), hozAlign: 'right', sorter: 'number' };
export const COUNT = { formatter: (cell) => count(cell.getValue()), hozAlign: 'right', sorter: 'number' };
export const TIME = { formatter: (cell) => time(cell.getValue()), hozAlign: 'right', sorter: 'number' };

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
  return { title: 'Share', field: 'share', width: 110, sorter: 'number', formatter: (cell) => {
    const bar = document.createElement('span');
    bar.className = 'bar';
    bar.style.width = (most ? 100 * cell.getRow().getData()[field] / most : 0) + '%';
    return bar;
  } };
}

export const most = (rows, field) => rows.reduce((a, row) => Math.max(a, row[field]), 0);
