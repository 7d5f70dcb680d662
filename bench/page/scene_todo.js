// SPDX-License-Identifier: Apache-2.0
// The same list of things to do in six libraries. Each scene adds items one after the other through
// the input, marks each as done and deletes it, by the events that a keyboard and a mouse make.
import $ from 'jquery';
import { LitElement, html } from 'lit';
import { h as preactElement, render as preactRender } from 'preact';
import { useState as usePreactState } from 'preact/hooks';
import { createElement, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { createApp } from 'vue';

const ITEMS = 60;

const add = (items, text) => [...items, { id: items.length, text, done: false }];
const toggle = (items, id) =>
  items.map((item) => (item.id === id ? { ...item, done: !item.done } : item));
const drop = (items, id) => items.filter((item) => item.id !== id);

/** The component that React and Preact share: `element` and `state` are the library's own. */
function component(element, state, change) {
  return function List() {
    const [items, set] = state([]);
    return element('div', null,
      element('input', { className: 'new', [change]: (event) => {
        const text = event.target.value;
        if (text.endsWith(';'))
          set((old) => add(old, text.slice(0, -1)));
      } }),
      element('ul', null, items.map((item) =>
        element('li', { key: item.id, className: item.done ? 'completed' : '' },
          element('input', { type: 'checkbox', checked: item.done, className: 'toggle',
            onChange: () => set((old) => toggle(old, item.id)) }),
          element('label', null, item.text),
          element('button', { className: 'drop', onClick: () => set((old) => drop(old, item.id)) },
            'delete')))),
      element('p', null, `${items.filter((item) => !item.done).length} items left`));
  };
}

class LitList extends LitElement {
  static properties = { items: { state: true } };

  constructor() {
    super();
    this.items = [];
  }

  createRenderRoot() {
    return this; // the steps look for elements in the page
  }

  render() {
    return html`<input class="new" @input=${(event) => {
      this.items = add(this.items, event.target.value.slice(0, -1));
    }}><ul>${this.items.map((item) => html`<li class=${item.done ? 'completed' : ''}>
      <input type="checkbox" class="toggle" .checked=${item.done}
        @change=${() => { this.items = toggle(this.items, item.id); }}>
      <label>${item.text}</label>
      <button class="drop"
        @click=${() => { this.items = drop(this.items, item.id); }}>delete</button>
      </li>`)}</ul><p>${this.items.filter((item) => !item.done).length} items left</p>`;
  }
}
customElements.define('lit-list', LitList);

const mounts = {
  react(root) {
    const app = createRoot(root);
    app.render(createElement(component(createElement, useState, 'onInput')));
    return () => app.unmount();
  },
  preact(root) {
    preactRender(preactElement(component(preactElement, usePreactState, 'onInput')), root);
    return () => preactRender(null, root);
  },
  vue(root) {
    const app = createApp({
      data: () => ({ items: [] }),
      computed: { left() { return this.items.filter((item) => !item.done).length; } },
      methods: {
        add(event) { this.items.push({ id: this.items.length, text: event.target.value.slice(0, -1),
          done: false }); },
        drop(item) { this.items.splice(this.items.indexOf(item), 1); },
      },
      template: `<input class="new" @input="add"><ul><li v-for="item in items" :key="item.id"
        :class="{ completed: item.done }"><input type="checkbox" class="toggle" v-model="item.done">
        <label>{{ item.text }}</label><button class="drop" @click="drop(item)">delete</button>
        </li></ul><p>{{ left }} items left</p>`,
    });
    app.mount(root);
    return () => app.unmount();
  },
  lit(root) {
    root.append(document.createElement('lit-list'));
  },
  jquery(root) {
    const $root = $(root).html('<input class="new"><ul></ul><p></p>');
    const count = () =>
      $root.find('p').text(`${$root.find('li:not(.completed)').length} items left`);
    $root.on('input', '.new', (event) => {
      $('<li>').append('<input type="checkbox" class="toggle">',
        $('<label>').text(event.target.value.slice(0, -1)),
        '<button class="drop">delete</button>').appendTo($root.find('ul'));
      count();
    }).on('change', '.toggle', (event) => {
      $(event.target).closest('li').toggleClass('completed');
      count();
    }).on('click', '.drop', (event) => {
      $(event.target).closest('li').remove();
      count();
    });
    return () => $root.off().empty();
  },
  strings(root) { // no library: markup is made anew after each step
    let items = [];
    const draw = () => {
      root.innerHTML = `<input class="new"><ul>${items.map((item) =>
        `<li data-id="${item.id}" class="${item.done ? 'completed' : ''}"><input type="checkbox"
          class="toggle" ${item.done ? 'checked' : ''}><label>${item.text}</label>
          <button class="drop">delete</button></li>`).join('')}</ul>
        <p>${items.filter((item) => !item.done).length} items left</p>`;
    };
    const id = (event) => Number(event.target.closest('li').dataset.id);
    root.addEventListener('input', (event) => {
      if (event.target.className !== 'new')
        return;
      items = add(items, event.target.value.slice(0, -1));
      draw();
    });
    root.addEventListener('change', (event) => { items = toggle(items, id(event)); draw(); });
    root.addEventListener('click', (event) => {
      if (event.target.className !== 'drop')
        return;
      items = drop(items, id(event));
      draw();
    });
    draw();
  },
};

const value = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;

function scene(mount) {
  return async (root, settle) => {
    const end = mount(root);
    while (!root.querySelector('.new'))
      await settle(); // React renders when it likes
    for (let i = 0; i < ITEMS; i++) {
      const input = root.querySelector('.new');
      value.call(input, `buy ${i} apples;`);
      input.dispatchEvent(new Event('input', { bubbles: true }));
      await settle();
    }
    if (root.querySelectorAll('li').length !== ITEMS)
      throw new Error(`${mount.name}: ${root.querySelectorAll('li').length} items, not ${ITEMS}`);
    for (let i = 0; i < ITEMS; i++) {
      root.querySelectorAll('.toggle')[i].click();
      await settle();
    }
    for (let i = 0; i < ITEMS; i++) {
      root.querySelector('.drop').click();
      await settle();
    }
    if (root.querySelectorAll('li').length)
      throw new Error(`${mount.name}: items are left`);
    return end;
  };
}

export const scenes =
  Object.fromEntries(Object.entries(mounts).map(([name, mount]) => [name, scene(mount)]));
