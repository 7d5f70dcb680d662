// SPDX-License-Identifier: Apache-2.0
// The flame graph, by d3-flame-graph.
import { select } from 'd3-selection';
import flamegraph from 'd3-flame-graph';

let chart, matching = 0;
// what a directory's name has before its last two parts
const LEADING = /^(?:[^/]+\/)+(?=[^/]+\/[^/]+\/ \(no names\)$)/;

// Hue, saturation and lightness of the components that have most; dark text is readable on each.
const TONES = [[205, 68, 73], [36, 85, 65], [160, 42, 66], [322, 50, 79], [54, 78, 71],
  [16, 85, 74], [252, 58, 81], [184, 55, 72]];

// Colours of components, in their order; those behind the last tone share grey. Functions of one
// differ a little, by their names.
export function colourBy(components) {
  const rank = new Map(components.map((name, i) => [name, i]));
  return (component, name = '') => {
    const [hue, saturation, light] = TONES[rank.get(component)] ?? [220, 10, 80];
    let hash = 0;
    for (let i = 0; i < name.length; i++) hash = (hash * 31 + name.charCodeAt(i)) >>> 0;
    return `hsl(${hue} ${saturation}% ${light + (name ? hash % 9 - 4 : 0)}%)`;
  };
}

// `how`: icicle, label and colour (of a node's data), tell (shows a label), open (a node's data, of
// one that has others inside).
export function drawFlame(element, root, how) {
  element.replaceChildren();
  const tell = (node) => how.tell(how.label(node.data));
  const pick = (node) => (node.data.inside ? how.open(node.data) : tell(node));
  chart = flamegraph().width(Math.max(320, element.clientWidth)).cellHeight(20).minFrameSize(2)
    .inverted(how.icicle).selfValue(false).transitionDuration(0).sort(true)
    .setColorMapper((node) => (node.highlight ? '#ff5cff' : how.colour(node.data)))
    .label((node) => how.label(node.data)).onHover(tell).onClick(pick)
    .setSearchMatch((node, text) => node.data.name.includes(text) ||
      Boolean(node.data.nameless) && node.data.nameless === text);
  chart.getName(({ data: { name } }) => name.replace(LEADING, '\u2026/'));
  chart.setSearchHandler((results, sum) => { matching = sum; });
  chart.setDetailsHandler(() => {});
  select(element).datum(root).call(chart);
}

// How many bytes or blocks match.
export function searchFlame(text) {
  matching = 0;
  if (!chart) return 0;
  if (text) chart.search(text);
  return matching;
}

export function zoomOut() {
  chart?.resetZoom();
}
