import { html } from 'htm/preact';
import { countOf, printCount } from '../../../platform/text/human-readable.ts';
import type { FailureReasons } from '../../contract/deliveries.ts';
import { withQuery } from '../parts/addresses.ts';
import { badge } from '../parts/badge.ts';
import type { Content } from '../parts/content.ts';
import { formattedText } from '../parts/formatted-text.ts';
import type { AddPage } from '../parts/site.ts';
import { table } from '../parts/table.ts';
import { reasonFilter } from './delivery-filter.ts';

const PATH = '/deliveries/reasons';
const NAME = 'Dead and failed deliveries by reason';

/** Adds the page that groups the dead and the failed deliveries of all sinks by reason. */
export const addFailureReasons: AddPage = (app, site) => {
  app.get(PATH, { config: { operation: 'failureReasons' } }, async (request, reply) =>
    site.show(request, reply, {
      title: NAME,
      name: 'Deliveries',
      live: body(await site.operations.failureReasons()),
    }),
  );
};

/** The link to the page, for the list of deliveries. */
export const reasonsLink = html`<p><a href=${PATH}>${NAME}</a></p>`;

type Reason = FailureReasons['rows'][number];

function body({ rows, others, complete }: FailureReasons): Content {
  return [
    table<Reason>({
      name: NAME,
      columns: [
        { label: 'State', of: ({ state }) => badge(state) },
        { label: 'Deliveries', of: (row) => listLink(row, printCount(row.deliveries)), number: true },
        { label: 'Reason', of: ({ reason }) => html`<bdi>${formattedText(reason)}</bdi>`, text: true },
        { label: 'Sinks', of: sinksOf, text: true },
      ],
      rows,
      key: (row) => `reason-${rows.indexOf(row)}`,
      empty: 'No delivery is dead or has failed.',
    }),
    others > 0 &&
      html`<p class="hint">${countOf(others, 'more delivery has another reason', 'more deliveries have other reasons')}.</p>`,
    !complete &&
      html`<p class="hint">There are more: of each sink, only the newest dead deliveries and the pending ones that are retried first are counted here.</p>`,
  ];
}

function sinksOf(row: Reason): Content {
  return row.sinks.map(
    ({ sink, deliveries }, at) =>
      html`${at > 0 && ', '}${listLink({ ...row, sink }, `${sink} ${printCount(deliveries)}`)}`,
  );
}

/** Returns a link to the deliveries in a state whose reason contains that of the row. */
function listLink(
  { sink, state, reason }: Pick<Reason, 'state' | 'reason'> & { sink?: string },
  text: string,
): Content {
  return html`<a href=${withQuery('/deliveries', reasonFilter({ sink, state, reason }))}>${text}</a>`;
}
