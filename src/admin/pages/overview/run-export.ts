import type { FastifyReply, FastifyRequest } from 'fastify';
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { countOf } from '../../../platform/text/human-readable.ts';
import type { ExportPreview } from '../../contract/operations.ts';
import { may } from '../../contract/rights.ts';
import { runAction } from '../parts/addresses.ts';
import { type Confirmation, dialogAttributes } from '../parts/confirmation.ts';
import type { Content } from '../parts/content.ts';
import { IdempotentSubmit } from '../parts/idempotent-submit.ts';
import { withLineBreaks } from '../parts/line-breaks.ts';
import { type AddPage, fieldsOf, paramOf, type Site } from '../parts/site.ts';

type FileKind = 'export' | 'backup';
/** Whether a run was requested; undefined if the configuration in force does not have the export or backup. */
type Requested = boolean | undefined;

const LABELS: Readonly<Record<FileKind, string>> = { export: 'Export now…', backup: 'Back up now…' };
/** Maximum number of files that the question names. */
const MAX_NAMED = 10;

/** Returns a button that runs a scheduled export or backup after a question, for readers who may do so. */
export function runButton(what: FileKind, name: string): VNode | null {
  if (!may('runExport')) return null;
  const action = runAction(what, name);
  return html`<form method="post" action=${action} class="actions">
    <button title="Begins before the next scheduled time, as soon as no other export or backup runs" aria-label=${`${LABELS[what]} ${name}`} ...${dialogAttributes(action)}>${LABELS[what]}</button>
  </form>`;
}

/** Adds the actions of `runButton`: the question, which says what `keep` removes, and the run, which then shows the overview. */
export const addRunExport: AddPage = (app, site) => {
  const once = new IdempotentSubmit<Requested>();
  for (const what of ['export', 'backup'] as const)
    app.post(`/${what}s/:name/run`, { config: { operation: 'runExport' } }, (request, reply) =>
      run(site, once, what, request, reply),
    );
};

async function run(
  site: Site,
  once: IdempotentSubmit<Requested>,
  what: FileKind,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const name = paramOf(request, 'name');
  const fields = fieldsOf(request);
  if (!fields.has('sure')) {
    const preview = await site.operations.previewExport(what, name);
    if (preview === undefined) return unknown(site, what, request, reply);
    return site.confirm(request, reply, {
      ...question(what, name, preview),
      fields: [once.field()],
      back: '/',
    });
  }
  const isRequested = await once.run(fields, () => site.operations.runExport(what, name));
  if (isRequested === undefined) return unknown(site, what, request, reply);
  const text = isRequested
    ? `The ${what} ${name} begins as soon as no other export or backup runs.`
    : `The ${what} ${name} is running or was requested already, so no other run was started.`;
  return site.done(reply, '/', { kind: 'good', text });
}

function unknown(site: Site, what: FileKind, request: FastifyRequest, reply: FastifyReply) {
  return site.fail(request, reply, {
    title: `No such ${what}`,
    what: `The configuration in force has no ${what} ${paramOf(request, 'name')}.`,
    next: 'A reload may have removed or renamed it; see the overview.',
    status: 404,
  });
}

function question(what: FileKind, name: string, preview: ExportPreview): Omit<Confirmation, 'back'> {
  const verb = what === 'export' ? 'Export' : 'Back up';
  return {
    title: `${verb} ${name}`,
    question: `${verb} ${name} now?`,
    consequences: html`<p>The run begins as soon as no other export or backup runs, and counts as a scheduled one.</p>${removal(what, preview)}`,
    confirmLabel: verb,
  };
}

/** Returns what `keep` removes in this run. */
function removal(what: FileKind, { keep, removed, unknown }: ExportPreview): Content {
  if (keep === null) return html`<p>It removes no older ${what}: <code>keep</code> is not set.</p>`;
  const kept = html`<code>keep: ${keep}</code>`;
  if (unknown !== null)
    return html`<p>Because of ${kept}, it may remove the oldest ${what}. Which one is unknown: <bdi>${unknown}</bdi></p>`;
  if (removed.length === 0) return html`<p>It removes no older ${what}: ${kept} allows one more.</p>`;
  const more = removed.length - MAX_NAMED;
  return html`<p>Because of ${kept}, it removes ${countOf(removed.length, `older ${what}`)}:</p>
    <ul>${removed.slice(0, MAX_NAMED).map((file) => html`<li><bdi>${withLineBreaks(file)}</bdi></li>`)}</ul>
    ${more > 0 && html`<p>… and ${more} more.</p>`}`;
}
