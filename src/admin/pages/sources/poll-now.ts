import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { may } from '../../contract/rights.ts';
import { pollAction, withQuery } from '../parts/addresses.ts';
import type { Notice } from '../parts/notice.ts';
import { type AddPage, paramOf } from '../parts/site.ts';

/**
 * Returns a button that polls a source now, for readers who may do so. It asks for no confirmation, because a poll changes nothing at the
 * service.
 */
export function pollButton(source: string): VNode | null {
  if (!may('poll')) return null;
  return html`<form method="post" action=${pollAction(source)} class="actions">
    <button title="Requests the listing immediately, before the next poll that is due" aria-label=${`Poll now: ${source}`}>Poll now</button>
  </form>`;
}

/** Adds the action of `pollButton`, which then shows the polls of the source. */
export const addPollNow: AddPage = (app, site) => {
  app.post('/sources/:source/poll', { config: { operation: 'poll' } }, async (request, reply) => {
    const source = paramOf(request, 'source');
    const begun = await site.operations.poll(source);
    if (begun === undefined)
      return site.fail(request, reply, {
        title: 'No such source',
        what: `The configuration in force has no source ${source}.`,
        next: 'A reload may have removed or renamed it; see the overview.',
        status: 404,
      });
    return site.done(reply, withQuery('/polls', { source }), begun ? started(source) : running(source));
  });
};

function started(source: string): Notice {
  return { kind: 'good', text: `A poll of ${source} has started.` };
}

function running(source: string): Notice {
  return { kind: 'good', text: `A poll of ${source} is in progress, so no other poll was started.` };
}
