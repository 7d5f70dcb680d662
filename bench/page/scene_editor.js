// SPDX-License-Identifier: Apache-2.0
// An editor with highlighting: a program is typed in, line by line, scrolled through, and undone.
import { javascript } from '@codemirror/lang-javascript';
import { undo } from '@codemirror/commands';
import { EditorView, basicSetup } from 'codemirror';

const LINES = 80;

export async function editorScene(root, settle) {
  const view = new EditorView({ parent: root, extensions: [basicSetup, javascript()] });
  for (let i = 0; i < LINES; i++) {
    const at = view.state.doc.length;
    view.dispatch({ changes: { from: at, insert:
      `export function step${i}(items) { return items.map((x) => x * ${i}); } // "${i}"\n` },
      selection: { anchor: at }, scrollIntoView: true, userEvent: 'input.type' });
    await settle();
  }
  for (let line = 1; line < LINES; line += 8) {
    view.dispatch({ effects: EditorView.scrollIntoView(view.state.doc.line(line).from) });
    await settle();
  }
  for (let i = 0; i < 20 && undo(view); i++)
    await settle();
  return () => view.destroy();
}
