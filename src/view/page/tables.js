// SPDX-License-Identifier: Apache-2.0
// The tables, by Tabulator. Cells are text; what is no text is an element that page.js makes.
import { Tabulator, FormatModule, SortModule, ResizeColumnsModule } from 'tabulator-tables';

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
