// SPDX-License-Identifier: Apache-2.0
// What both pages have, of a session and of two compared: the views' buttons, the theme, cards and
// lists. Names are text everywhere: nothing here takes HTML.
import { bytes, count } from './words.js';

export const byId = (id) => document.getElementById(id);

export function make(tag, text, className) {
  const element = document.createElement(tag);
  element.textContent = text;
  if (className) element.className = className;
  return element;
}

export function cards(id, rows) {
  byId(id).replaceChildren(...rows.map(([name, value, more]) => {
    const div = make('div', ''), dd = make('dd', value);
    dd.append(make('small', more));
    div.append(make('dt', name), dd);
    return div;
  }));
}

export function fillList(id, texts) {
  byId(id).replaceChildren(...texts.map((text) => make('li', text)));
}

export function fillOptions(select, rows) {
  select.replaceChildren(...rows.map(([value, text]) => {
    const option = make('option', text);
    option.value = value;
    return option;
  }));
}

const isUnseen = (row) => row.count === undefined;

// The columns of what was lost, counted or not seen.
export const LOSS_COLUMNS = [
  { title: 'What', field: 'text', widthGrow: 4, minWidth: 200, variableHeight: true,
    cssClass: 'whole' },
  { title: 'Count', field: 'count', width: 120, hozAlign: 'right',
    formatter: (cell) => (isUnseen(cell.getData()) ? '' : count(cell.getValue())) },
  { title: 'Loss', field: 'loss', width: 100,
    formatter: (cell) => (isUnseen(cell.getData()) ? 'not seen' : cell.getValue() ? 'yes' : 'no') },
];

// The line under the filter: what was lost of one session, or of two, and how much was not seen.
export function showLosses(sessions) {
  let bad = false;
  const texts = sessions.map((session) => {
    const lost = session.losses.filter((row) => row.loss);
    const unseen = session.losses.filter(isUnseen).length;
    bad ||= lost.length > 0 || !session.complete;
    return (sessions.length > 1 ? `${session.name}: ` : '') +
      (session.complete ? '' : 'The recording was not finished. ') +
      (session.sample ? `Estimated from a sample, one block in ${bytes(session.sample)}`
        + `${session.sample_changes ? ' or less' : ''}. ` : '') +
      (lost.length ? `Lost: ${lost.map((row) => `${count(row.count)} ${row.text}`).join('; ')}`
        : 'Lost: nothing') +
      (unseen ? `; not seen: ${count(unseen)} ${unseen > 1 ? 'things' : 'thing'}, under Loss` : '');
  });
  byId('loss').className = bad ? 'bad' : '';
  byId('loss').textContent = texts.join(' \u00b7 ');
}

export function showNav(view) {
  const nav = byId('nav');
  for (const button of nav.children)
    if (button.dataset.view !== view) {
      button.removeAttribute('aria-current');
    } else {
      button.setAttribute('aria-current', 'page');
      nav.scrollLeft = button.offsetLeft - nav.offsetLeft - nav.clientWidth / 3; // if it scrolls
    }
  for (const section of document.querySelectorAll('main section'))
    section.classList.toggle('shown', section.id === view);
}

// Buttons for the views, and the theme, which is the system's until somebody chooses; then shows.
export function startShell(views, pick, show) {
  byId('nav').replaceChildren(...Object.entries(views).map(([view, text]) => {
    const button = make('button', text);
    button.type = 'button';
    button.dataset.view = view;
    button.addEventListener('click', () => pick(view));
    return button;
  }));
  const setTheme = (dark) => {
    document.documentElement.dataset.theme = dark ? 'dark' : 'light';
    byId('theme').setAttribute('aria-pressed', String(dark));
    show();
  };
  byId('skip').addEventListener('click', (event) => {
    event.preventDefault();
    byId('main-start').focus();
  });
  byId('theme').addEventListener('click', () =>
    setTheme(document.documentElement.dataset.theme !== 'dark'));
  const system = matchMedia('(prefers-color-scheme: dark)');
  system.addEventListener('change', (event) => setTheme(event.matches));
  setTheme(system.matches);
}
