// SPDX-License-Identifier: Apache-2.0
// Numbers as shinyctl writes them (units.h).
export function count(n) {
  return Number.isFinite(n) ? n.toLocaleString('en-US') : '–';
}

// "1 block", "2 blocks": as units_noun().
export function noun(n, one) {
  return `${count(n)} ${one}${n === 1 ? '' : 's'}`;
}

// Three digits that count. toFixed rounds ties up, as units.c does.
function three(n, unit) {
  return `${n.toFixed(n < 9.995 ? 2 : n < 99.95 ? 1 : 0)} ${unit}`;
}

export function bytes(n) {
  if (!Number.isFinite(n)) return '–';
  if (n < 1024) return `${n} B`;
  let at = 0;
  for (n /= 1024; n >= 999.5 && at < 5; at++) n /= 1024;
  return three(n, ['KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'][at]);
}

export function time(ns) {
  if (!Number.isFinite(ns)) return '–';
  if (ns < 1000) return `${Math.round(ns)} ns`;
  if (ns < 999500) return three(ns / 1e3, 'µs');
  if (ns < 999500000) return three(ns / 1e6, 'ms');
  const s = Math.floor(ns / 1e9);
  if (s < 60) return three(ns / 1e9, 's');
  const two = (n) => String(n).padStart(2, '0');
  return s < 3600 ? `${Math.floor(s / 60)} min ${two(s % 60)} s`
    : `${Math.floor(s / 3600)} h ${two(Math.floor(s / 60) % 60)} min`;
}

export function share(part, all) {
  if (!all) return '–';
  const percent = part * 100 / all;
  return percent > 0 && percent < 0.05 ? '<0.1 %' : `${percent.toFixed(1)} %`;
}

// From one number to another: "+1.2 MiB", "−3", "".
export function change(from, to, words) {
  if (from === to) return '';
  return (to > from ? '+' : '\u2212') + words(Math.abs(to - from));
}
