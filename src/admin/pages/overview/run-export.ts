import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { may } from '../../contract/rights.ts';
import { runAction } from '../parts/addresses.ts';
import { type AddPage, paramOf } from '../parts/site.ts';

type FileKind = 'export' | 'backup';

const LABELS: Readonly<Record<FileKind, string>> = { export: 'Export now', backup: 'Back up now' };

/**
 * Returns a button that runs a scheduled export or backup now, for readers who may do so. A run needs no confirmation: it counts as a scheduled one,
 * which also removes the oldest file beyond `keep`.
 */
export function runButton(what: FileKind, name: string): VNode | null {
  if (!may('runExport')) return null;
  return html`<form method="post" action=${runAction(what, name)} class="actions">
    <button title="Begins before the next scheduled time, as soon as no other export or backup runs" aria-label=${`${LABELS[what]}: ${name}`}>${LABELS[what]}</button>
  </form>`;
}

/** Adds the actions of `runButton`, which then show the overview. */
export const addRunExport: AddPage = (app, site) => {
  for (const what of ['export', 'backup'] as const)
    app.post(`/${what}s/:name/run`, { config: { operation: 'runExport' } }, async (request, reply) => {
      const name = paramOf(request, 'name');
      const isRequested = await site.operations.runExport(what, name);
      if (isRequested === undefined)
        return site.fail(request, reply, {
          title: `No such ${what}`,
          what: `The configuration in force has no ${what} ${name}.`,
          next: 'A reload may have removed or renamed it; see the overview.',
          status: 404,
        });
      const text = isRequested
        ? `The ${what} ${name} begins as soon as no other export or backup runs.`
        : `The ${what} ${name} is running, so no other run was started.`;
      return site.done(reply, '/', { kind: 'good', text });
    });
};
