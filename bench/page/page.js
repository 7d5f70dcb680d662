// SPDX-License-Identifier: Apache-2.0
// A page benchmark: lists of things to do in six libraries, an editor and charts, each worked by
// the events that a user's hands would make. A round is all of them once; layout is forced after
// each step and the page's other tasks get their turn, so style, layout and what frameworks put off
// are in the figure. The address says for how many seconds rounds are made (`#seconds=20`); then
// `result` gets rounds a minute, and the image that the server holds back until then lets the
// page's load end.
import { chartScene } from './scene_chart.js';
import { editorScene } from './scene_editor.js';
import { scenes as todoScenes } from './scene_todo.js';

const stage = document.getElementById('stage');
const scenes = { ...todoScenes, editor: editorScene, chart: chartScene };
const seconds = Number(new URLSearchParams(location.hash.slice(1)).get('seconds') ?? 10);

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
  let rounds = 0;
  while (performance.now() - from < seconds * 1000) {
    await round();
    rounds++;
  }
  const minutes = (performance.now() - from) / 60000;
  return { rounds, score: rounds / minutes };
}

run().catch((error) => ({ error: String(error?.stack ?? error) })).then((result) => {
  document.title = 'done';
  return fetch('result', { method: 'POST', body: JSON.stringify(result) });
});
