// SPDX-License-Identifier: Apache-2.0
// Numbers as shinyctl writes them (units.h).
export function count(n) {
  return Number.isFinite(n) ? n.toLocaleString('en-US') : '–';
}

export function bytes(n) {
  if (!Number.isFinite(n)) return '–';
  if (n < 1024) return `${n} B`;
  let at = 0;
  for (n /= 1024; n >= 1024 && at < 4; at++) n /= 1024;
  return `${n.toPrecision(n >= 1000 ? 4 : 3)} ${['KiB', 'MiB', 'GiB', 'TiB', 'PiB'][at]}`;
}

export function time(ns) {
  if (!Number.isFinite(ns)) return '–';
  if (ns < 1000) return `${Math.round(ns)} ns`;
  if (ns < 1e6) return `${(ns / 1e3).toPrecision(3)} µs`;
  if (ns < 1e9) return `${(ns / 1e6).toPrecision(3)} ms`;
  if (ns < 6e10) return `${(ns / 1e9).toPrecision(3)} s`;
  const s = Math.round(ns / 1e9);
  return `${Math.floor(s / 60)} min ${String(s % 60).padStart(2, '0')} s`;
}

export function share(part, all) {
  return all ? `${(100 * part / all).toFixed(1)} %` : '–';
}
