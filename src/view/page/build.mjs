// SPDX-License-Identifier: Apache-2.0
// Makes page.html of page.js, page.css, template.html and the libraries that package-lock.json
// pins: one file, with their licences in it. `node build.mjs --check` compares and writes nothing.
import { createHash } from 'node:crypto';
import { build } from 'esbuild';
import { readFileSync, writeFileSync, existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const made = await build({
  absWorkingDir: here, entryPoints: ['page.js'], bundle: true, minify: true, write: false,
  format: 'iife', target: 'es2022', legalComments: 'none', metafile: true, charset: 'utf8',
  outdir: 'out', loader: { '.css': 'css' },
});
const text = (end) => made.outputFiles.find((file) => file.path.endsWith(end)).text;
const packages = [...new Set(Object.keys(made.metafile.inputs)
  .map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]).filter(Boolean))].sort();
const licences = packages.map((name) => {
  const at = join(here, 'node_modules', name);
  const about = JSON.parse(readFileSync(join(at, 'package.json'), 'utf8'));
  const file = ['LICENSE', 'LICENSE.md', 'LICENSE.txt', 'NOTICE', 'README.md']
    .map((word) => join(at, word)).find((path) => existsSync(path));
  return `${name} ${about.version} (${about.license})\n\n${readFileSync(file, 'utf8').trim()}`;
}).join('\n\n----\n\n').replaceAll('&', '&amp;').replaceAll('<', '&lt;');
// what the page is made of: a test compares it without node
const sources = createHash('sha256');
for (const name of ['answers.js', 'boxes.js', 'build.mjs', 'compare.js', 'cube.js', 'flame.js',
  'package-lock.json', 'page.css', 'page.js', 'plots.js', 'shell.js', 'tables.js', 'template.html',
  'words.js'])
  sources.update(readFileSync(join(here, name)));
const page = readFileSync(join(here, 'template.html'), 'utf8')
  .replace('@SOURCES@', sources.digest('hex'))
  .replace('@LICENCES@', () => licences)
  .replace('@STYLE@', () => text('.css'))
  .replace('@SCRIPT@', () => text('.js').replaceAll('</script', '<\\/script'));
const to = join(here, 'page.html');
if (!process.argv.includes('--check')) {
  writeFileSync(to, page);
} else if (readFileSync(to, 'utf8') !== page) {
  console.error('page.html is not what build.mjs makes: run `make page`');
  process.exit(1);
}
