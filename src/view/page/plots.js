// SPDX-License-Identifier: Apache-2.0
// The plots, by ECharts: as SVG, and those of very many elements on a canvas. Tooltips are text
// (renderMode richText), never HTML.
import * as echarts from 'echarts/core';
import { LineChart, BarChart, HeatmapChart, ScatterChart, TreemapChart } from 'echarts/charts';
import { GridComponent, TooltipComponent, BrushComponent, MarkLineComponent, MarkAreaComponent,
  LegendComponent, AriaComponent, VisualMapComponent } from 'echarts/components';
import { CanvasRenderer, SVGRenderer } from 'echarts/renderers';
import { bytes, byteStep, count, time, timeStep, tick, noun } from './words.js';

echarts.use([LineChart, BarChart, HeatmapChart, ScatterChart, TreemapChart, GridComponent,
  TooltipComponent, BrushComponent, MarkLineComponent, MarkAreaComponent, LegendComponent,
  AriaComponent, VisualMapComponent, CanvasRenderer, SVGRenderer]);

// Okabe and Ito's colours, which most people can tell apart
const COLOURS = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#f0e442'];
// the dark blue is hard to see on a dark ground: the light one goes first there
const ON_DARK = [COLOURS[4], ...COLOURS.slice(1, 4), COLOURS[0], ...COLOURS.slice(5)];
const LETTER = 7; // pixels, of most letters in a label
const plots = new Map();

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function plot(element, option, renderer = 'svg') {
  let chart = plots.get(element);
  if (!chart) plots.set(element, chart = echarts.init(element, null, { renderer }));
  // a resize draws the plot as it was: only where it is one
  if (chart.getWidth() !== element.clientWidth || chart.getHeight() !== element.clientHeight)
    chart.resize();
  chart.setOption({
    color: document.documentElement.dataset.theme === 'dark' ? ON_DARK : COLOURS,
    animation: false,
    textStyle: { color: colour('--text'),
      fontFamily: getComputedStyle(document.body).fontFamily },
    tooltip: { renderMode: 'richText', confine: true, backgroundColor: colour('--panel'),
      borderColor: colour('--line'), textStyle: { color: colour('--text') }, ...option.tooltip },
    ...Object.fromEntries(Object.entries(option).filter(([key]) => key !== 'tooltip')),
  }, { notMerge: true });
  return chart;
}

export function resizeAll() {
  for (const chart of plots.values()) chart.resize();
}

const axis = (more) => ({
  axisLine: { lineStyle: { color: colour('--line') } },
  axisLabel: { color: colour('--dim'), ...more?.axisLabel },
  splitLine: { lineStyle: { color: colour('--line'), opacity: 0.5 } },
  nameTextStyle: { color: colour('--dim') },
  ...Object.fromEntries(Object.entries(more ?? {}).filter(([key]) => key !== 'axisLabel')),
});
// Axes whose ticks are round in the units that people read.
const byteAxis = (most) => {
  const interval = byteStep(Math.max(most, 1));
  return axis({ type: 'value', min: 0, max: interval * Math.ceil(Math.max(most, 1) / interval),
    interval, axisLabel: { formatter: (n) => tick(bytes(n)) } });
};
const timeAxis = (last) => axis({ type: 'value', min: 0, max: last, interval: timeStep(last),
  axisLabel: { formatter: (ns) => tick(time(ns)), hideOverlap: true },
  axisPointer: { label: { formatter: ({ value }) => time(value) } } });
const highest = (values) => values.reduce((a, b) => Math.max(a, b), 0);
const GRID = { left: 80, right: 24, top: 34, bottom: 40 };

export function drawTimeline(element, data, cube, picked, state, pick) {
  const at = (i) => Math.min((i + 1) * data.interval_ns, data.duration_ns);
  const line = (values) => [[0, 0], ...Array.from(values, (value, i) => [at(i), value])];
  const marks = data.marks.map((mark) => ({ xAxis: mark.ns, name: mark.name,
    label: { formatter: '{b}', color: colour('--dim') } }));
  marks.push({ xAxis: data.peak_ns, name: 'peak', label: { formatter: '{b}',
    color: colour('--text') }, lineStyle: { color: COLOURS[5] } });
  // a phase that is too narrow for its name has none
  const wide = (phase) => (phase.end_ns - phase.begin_ns) / data.duration_ns *
    (element.clientWidth - GRID.left - GRID.right) > 8 * phase.kind.length;
  const areas = data.phases.map((phase, i) => [{ xAxis: phase.begin_ns,
    name: wide(phase) ? phase.kind : '',
    itemStyle: { color: colour('--text'), opacity: i % 2 ? 0.03 : 0.07 },
    label: { color: colour('--dim'), position: 'insideTop' } }, { xAxis: phase.end_ns }]);
  const { whole } = cube;
  const chart = plot(element, {
    grid: GRID, tooltip: { trigger: 'axis', valueFormatter: bytes },
    legend: { right: 10, top: 4, textStyle: { color: colour('--dim') }, itemHeight: 9 },
    xAxis: timeAxis(data.duration_ns), yAxis: byteAxis(highest(whole)),
    brush: { xAxisIndex: 0, brushType: 'lineX', transformable: false,
      brushStyle: { color: colour('--accent'), opacity: 0.22 }, throttleType: 'debounce',
      throttleDelay: 150 },
    series: [
      { name: 'all', type: 'line', step: 'end', showSymbol: false, data: line(whole),
        lineStyle: { width: 1.5 }, areaStyle: { opacity: 0.12 },
        markLine: { symbol: 'none', silent: true, data: marks,
          lineStyle: { color: colour('--dim'), type: 'dashed' } },
        markArea: { silent: true, data: areas } },
      ...(picked.mask.includes(0) || picked.makers ? [{ name: 'the filter', type: 'line',
        step: 'end', showSymbol: false, data: line(cube.series(picked)),
        areaStyle: { opacity: 0.3 } }] : []),
    ],
  });
  chart.off('brushEnd');
  chart.dispatchAction({ type: 'takeGlobalCursor', key: 'brush',
    brushOption: { brushType: 'lineX', brushMode: 'single' } });
  if (picked.timed)
    chart.dispatchAction({ type: 'brush', areas: [{ brushType: 'lineX', xAxisIndex: 0,
      coordRange: [state.from * data.interval_ns, at(state.to - 1)] }] });
  chart.on('brushEnd', ({ areas }) => {
    const range = areas[0]?.coordRange;
    const from = range ? Math.max(0, Math.floor(range[0] / data.interval_ns)) : 0;
    const to = range ? Math.min(cube.intervals, Math.ceil(range[1] / data.interval_ns))
      : cube.intervals;
    pick(from, Math.max(to, from + 1));
  });
}

// What fits into a rectangle of a tree map: a name without what all names of its component begin
// with, and its number.
function leafLabel(name, value, { width, height }) {
  if (width < 44 || height < 18) return '';
  const short = name.replace(/^[~?]?(?:[A-Za-z_]\w*::)+/, '');
  return height < 36 || width < LETTER * value.length + 8 ? short : `${short}\n${value}`;
}

function headLabel(name, value, { width }) {
  if (width < 30) return '';
  return width < LETTER * (name.length + value.length) + 24 ? name : `${name}  ${value}`;
}

// The rows without those whose side is below `least`: these are one.
function joinSmall(rows, sideOf, least) {
  const small = rows.filter(({ value }) => sideOf(value) < least);
  const large = small.length < 2 ? rows : rows.filter(({ value }) => sideOf(value) >= least);
  return [...large.map((row) => (row.children
    ? { ...row, children: joinSmall(row.children, sideOf, least) } : row)),
  ...small.length < 2 ? [] : [{ name: noun(small.length, 'other'),
    value: small.reduce((sum, { value }) => sum + value, 0) }]];
}

export function drawTreemap(element, roots, words, pick) {
  const all = roots.reduce((sum, { value }) => sum + value, 0);
  const sideOf = (value) =>
    Math.sqrt(value / all * element.clientWidth * element.clientHeight);
  const boxOf = (index) =>
    plots.get(element).getModel().getSeriesByIndex(0).getData().getItemLayout(index) ?? {};
  const chart = plot(element, {
    tooltip: { formatter: ({ name, value }) => `${name}\n${words(value)}` },
    series: [{ type: 'treemap',
      data: joinSmall(roots.length === 1 ? roots[0].children : roots, sideOf, 6),
      name: roots.length === 1 ? roots[0].name : 'all', left: 0, right: 0, top: 4, bottom: 4,
      roam: false, nodeClick: false, visibleMin: 300,
      // at the top: what is below the screen has its name on it, too
      label: { formatter: ({ name, value, dataIndex }) => leafLabel(name, words(value), boxOf(dataIndex)),
        color: '#101114', lineHeight: 16, position: 'insideTopLeft' },
      upperLabel: { show: true, height: 22, color: colour('--text'),
        formatter: ({ name, value, dataIndex }) => headLabel(name, words(value),
          boxOf(dataIndex)) },
      breadcrumb: { show: false },
      itemStyle: { borderColor: colour('--back'), gapWidth: 1 },
      levels: [{ itemStyle: { borderColor: colour('--back'), borderWidth: 0, gapWidth: 3 } },
        { itemStyle: { borderColor: colour('--panel'), borderWidth: 3, gapWidth: 1 },
          colorSaturation: [0.35, 0.6] }, { colorSaturation: [0.35, 0.6],
          itemStyle: { borderColor: colour('--panel'), borderWidth: 2, gapWidth: 1 } }],
      color: ['#7cc0e8', '#f0c15a', '#6fcbb0', '#e3a8c8', '#a8d5f2', '#f0a074', '#e8e08a'] }],
  });
  chart.off('click');
  chart.on('click', ({ data }) => data?.filter && pick(data.filter));
}

function octaves({ ended, alive }) {
  const used = [...ended.keys()].filter((bin) => ended[bin] || alive[bin]);
  return used.length ? Array.from({ length: used.at(-1) - used[0] + 1 }, (_, i) => used[0] + i) : [];
}

export function drawHistogram(element, ages) {
  const bins = octaves(ages), all = bins.reduce((a, b) => a + ages.ended[b] + ages.alive[b], 0);
  let left = all;
  const longer = bins.map((b) => 100 * (left -= ages.ended[b]) / (all || 1));
  plot(element, {
    grid: { ...GRID, right: 60 }, tooltip: { trigger: 'axis' },
    legend: { top: 4, textStyle: { color: colour('--dim') } },
    xAxis: axis({ type: 'category', data: bins.map((bin) => `≥ ${time(bin ? 2 ** bin : 0)}`) }),
    yAxis: [axis({ type: 'value', name: 'blocks', axisLabel: { formatter: count } }),
      axis({ type: 'value', name: 'not ended, %', min: 0, max: 100, splitLine: { show: false } })],
    series: [{ name: 'ended', type: 'bar', stack: 'blocks', data: bins.map((b) => ages.ended[b]) },
      { name: 'not freed', type: 'bar', stack: 'blocks', data: bins.map((b) => ages.alive[b]) },
      { name: 'not ended, %', type: 'line', step: 'end', showSymbol: false, yAxisIndex: 1,
        data: longer.map((n) => Number(n.toFixed(2))) }],
  });
}

export function drawScatter(element, points) {
  const names = ['freed', 'abandoned', 'live at the end'];
  plot(element, {
    grid: GRID, legend: { top: 4, textStyle: { color: colour('--dim') } },
    tooltip: { formatter: ({ data }) => `about ${bytes(data[1])}, ${time(data[0])}\n` +
      `${noun(data[2], 'block')}, ${bytes(data[3])}` },
    xAxis: axis({ type: 'log', name: 'lifetime', nameLocation: 'middle', nameGap: 26,
      axisLabel: { formatter: (ns) => tick(time(ns)) } }),
    yAxis: axis({ type: 'log', logBase: 16, name: 'size of a block',
      axisLabel: { formatter: (n) => tick(bytes(n)) } }),
    series: names.map((name, end) => ({ name, type: 'scatter',
      symbolSize: (data) => 5 + 3 * Math.log10(data[2] + 1), itemStyle: { opacity: 0.8 },
      data: points.filter((p) => p.end === end).map((p) => [p.life, p.size, p.blocks, p.bytes]) })),
  }, 'canvas');
}

// Bars of one or more series over named groups.
export function drawBars(element, names, series, words, unit) {
  plot(element, {
    grid: { ...GRID, bottom: 30 }, tooltip: { trigger: 'axis', valueFormatter: words },
    legend: { top: 4, textStyle: { color: colour('--dim') } },
    xAxis: axis({ type: 'category', data: names, axisLabel: { interval: 0, hideOverlap: true } }),
    yAxis: words === bytes ? byteAxis(highest(series.flatMap(([, values]) => values)))
      : axis({ type: 'value', name: unit, minInterval: 1, axisLabel: { formatter: words } }),
    series: series.map(([name, values]) => ({ name, type: 'bar', data: values })),
  });
}

// `cells` have a column, a line, a percentage and a text. A line begins at an address.
export function drawPageMap(element, lines, cells, columns) {
  element.style.height = `${Math.max(120, 16 * lines.length + 70)}px`;
  plot(element, {
    grid: { left: 130, right: 24, top: 10, bottom: 54 },
    tooltip: { formatter: ({ data }) => data.text },
    xAxis: axis({ type: 'category', data: Array.from({ length: columns }, (_, i) => i),
      axisLabel: { show: false }, axisTick: { show: false } }),
    yAxis: axis({ type: 'category', inverse: true, axisTick: { show: false },
      data: lines.map((address) => `0x${address.toString(16)}`),
      axisLabel: { fontFamily: 'monospace', fontSize: 11 } }),
    visualMap: { min: 0, max: 100, orient: 'horizontal', left: 'center', bottom: 4, calculable: false,
      text: ['100 % in use', '0 %'], textStyle: { color: colour('--dim') }, itemHeight: 180,
      inRange: { color: ['#f0e442', '#e69f00', '#56b4e9', '#0072b2'] } },
    series: [{ type: 'heatmap', itemStyle: { borderColor: colour('--back'), borderWidth: 1 },
      data: cells.map((cell) => ({ value: [cell.x, cell.line, cell.use], text: cell.text })) }],
  }, 'canvas');
}

// Resident bytes of each process, at each sample.
export function drawResident(element, data, processes) {
  const shown = processes.slice(0, COLOURS.length);
  // a sample may be later than the last event
  const last = shown.reduce((most, process) => process.samples.reduce((at, one) =>
    Math.max(at, one.at_ns), most), data.duration_ns);
  plot(element, {
    grid: GRID, tooltip: { trigger: 'axis', valueFormatter: bytes },
    legend: { type: 'scroll', top: 4, textStyle: { color: colour('--dim') },
      pageTextStyle: { color: colour('--dim') }, pageIconColor: colour('--accent') },
    xAxis: timeAxis(last),
    yAxis: byteAxis(highest(
      shown.flatMap((process) => process.samples.map((one) => one.resident)))),
    series: shown.map((process) => ({ name: `${process.name} ${process.pid}`, type: 'line',
      symbolSize: 6, data: process.samples.map((one) => [one.at_ns, one.resident]) })),
  });
}
