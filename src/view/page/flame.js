// SPDX-License-Identifier: Apache-2.0
// The flame graph, by d3-flame-graph.
import { select } from 'd3-selection';
import flamegraph from 'd3-flame-graph';

let chart, matching = 0;

// A warm colour that is a name's own; dark text is readable on each.
function colourOf(name) {
  let hash = 0;
  for (let i = 0; i < name.length; i++) hash = (hash * 31 + name.charCodeAt(i)) >>> 0;
  return `hsl(${20 + hash % 40} ${60 + hash % 25}% ${66 + hash % 12}%)`;
}

// `how`: icicle, label (of a node's data), tell (shows a label), colour (of a node's data; without
// it a name's own).
export function drawFlame(element, root, how) {
  element.replaceChildren();
  const tell = (node) => how.tell(how.label(node.data));
  const colour = how.colour ?? ((data) => colourOf(data.name));
  chart = flamegraph().width(Math.max(320, element.clientWidth)).cellHeight(20).minFrameSize(2)
    .inverted(how.icicle).selfValue(false).transitionDuration(0).sort(true)
    .setColorMapper((node) => (node.highlight ? '#e600e6' : colour(node.data)))
    .label((node) => how.label(node.data)).onHover(tell).onClick(tell);
  chart.setSearchHandler((results, sum) => { matching = sum; });
  chart.setDetailsHandler(() => {});
  select(element).datum(root).call(chart);
}

// How many bytes or blocks match.
export function searchFlame(text) {
  matching = 0;
  if (!chart) return 0;
  if (text) chart.search(text);
  else chart.clear();
  return matching;
}

export function zoomOut() {
  chart?.resetZoom();
}
