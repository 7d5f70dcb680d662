// SPDX-License-Identifier: Apache-2.0
// Makes page.html in the directory that is named, of page.js and the libraries that
// package-lock.json pins: `node build.mjs DIRECTORY`.
import { build } from 'esbuild';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [to] = process.argv.slice(2);
if (!to) {
  console.error('usage: node build.mjs DIRECTORY');
  process.exit(2);
}
const made = await build({
  absWorkingDir: dirname(fileURLToPath(import.meta.url)), entryPoints: ['page.js'], bundle: true,
  minify: true, write: false, format: 'iife', target: 'es2022', charset: 'utf8',
  define: { 'process.env.NODE_ENV': '"production"', __VUE_OPTIONS_API__: 'true',
    __VUE_PROD_DEVTOOLS__: 'false', __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'false' },
  alias: { vue: 'vue/dist/vue.esm-bundler.js' },
});
mkdirSync(to, { recursive: true });
writeFileSync(join(to, 'page.html'), `<!doctype html>
<meta charset="utf-8"><title>running</title>
<style>body { font: 14px sans-serif } li { padding: 2px }
.completed { text-decoration: line-through }
#stage { width: 900px; height: 700px; overflow: auto } .cm-editor { height: 600px }</style>
<div id="stage"></div>
<script>${made.outputFiles[0].text.replaceAll('</script', '<\\/script')}</script>
<img src="hold" alt="">
`);
