// SPDX-License-Identifier: Apache-2.0
// Charts on canvas: a line and bars of some hundred points, changed again and again.
import Chart from 'chart.js/auto';

const POINTS = 300, CHANGES = 12;

const wave = (phase) =>
  Array.from({ length: POINTS }, (_, i) => Math.sin(i / 20 + phase) * 50 + (i * 7 + phase) % 11);

export async function chartScene(root, settle) {
  const charts = ['line', 'bar'].map((type) => {
    const canvas = root.appendChild(document.createElement('canvas'));
    canvas.width = 800;
    canvas.height = 300;
    return new Chart(canvas, { type, options: { animation: false, responsive: false },
      data: { labels: wave(0).map((_, i) => `p${i}`),
        datasets: [{ label: type, data: wave(0) }] } });
  });
  for (let i = 1; i <= CHANGES; i++) {
    for (const chart of charts) {
      chart.data.datasets[0].data = wave(i);
      chart.update();
    }
    await settle();
  }
  return () => charts.forEach((chart) => chart.destroy());
}
