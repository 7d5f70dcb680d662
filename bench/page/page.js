// SPDX-License-Identifier: Apache-2.0
// A page benchmark: lists of things to do in six libraries, an editor and charts, each worked by
// the events that a user's hands would make. A round is all of them once; layout is forced after
// each step and the page's other tasks get their turn, so style, layout and what frameworks put off
// are in the figure. The address says how many rounds are made (`#rounds=6`), so that whoever is slow
// does as much as whoever is fast, and starting the browser has the same share of both; then
// `result` gets rounds a minute, and the image that the server holds back until then lets the
// page's load end.
import { chartScene } from './scene_chart.js';
import { editorScene } from './scene_editor.js';
import { scenes as todoScenes } from './scene_todo.js';

const stage = document.getElementById('stage');
const scenes = { ...todoScenes, editor: editorScene, chart: chartScene };
const rounds = Number(new URLSearchParams(location.hash.slice(1)).get('rounds') ?? 6);

const settle = () => new Promise((resolve) => {
  void stage.offsetHeight;
  // not requestAnimationFrame: a page in the background gets none
  const channel = new MessageChannel();
  channel.port1.onmessage = resolve;
  channel.port2.postMessage(0);
});

async function round() {
  for (const scene of Object.values(scenes)) {
    const root = stage.appendChild(document.createElement('div'));
    const end = await scene(root, settle);
    end?.();
    root.remove();
    await settle();
  }
}

async function run() {
  await round(); // code is compiled, caches are filled
  const from = performance.now();
  for (let made = 0; made < rounds; made++) {
    await round();
  }
  const minutes = (performance.now() - from) / 60000;
  return { rounds, score: rounds / minutes };
}

run().catch((error) => ({ error: String(error?.stack ?? error) })).then((result) => {
  document.title = 'done';
  return fetch('result', { method: 'POST', body: JSON.stringify(result) });
});
