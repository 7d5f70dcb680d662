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

// A number as an axis has it: without the zeros that a tick's roundness makes.
export const tick = (text) =>
  text.replace(/\.(\d*?)0+(?= |$)/, (_, digits) => digits && `.${digits}`);

// The least of some steps, each of which makes round ticks, that cuts `most` into five at most.
function step(most, steps) {
  return steps.find((one) => most / one <= 5) ?? steps.at(-1);
}

const TENS = [1, 2, 5, 10, 20, 50, 100, 200, 500];
// beyond a thousand of a unit, parts of the next one
const BYTE_STEPS = [0, 1, 2, 3, 4, 5].flatMap((unit) =>
  [...TENS.slice(0, -1), 256, 512].map((n) => n * 1024 ** unit));
const SECOND = 1e9, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE;
const TIME_STEPS = [...[1, 1e3, 1e6].flatMap((unit) => TENS.map((n) => n * unit)),
  ...[1, 2, 5, 10, 20].map((n) => n * SECOND), ...[1, 2, 5, 10, 20].map((n) => n * MINUTE),
  ...TENS.map((n) => n * HOUR)];
export const byteStep = (most) => step(most, BYTE_STEPS);
export const timeStep = (most) => step(most, TIME_STEPS);

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
