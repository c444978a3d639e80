import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { printCount } from '../../../platform/text/human-readable.ts';
import { may } from '../../contract/rights.ts';
import type { SinkDetail } from '../../contract/sinks.ts';
import { reasonFilter } from '../deliveries/delivery-filter.ts';
import { withQuery } from '../parts/addresses.ts';
import { badge } from '../parts/badge.ts';
import { confirmAllButton } from '../parts/confirmation.ts';
import type { Content } from '../parts/content.ts';
import { formattedText } from '../parts/formatted-text.ts';
import { table } from '../parts/table.ts';

type ReasonGroup = SinkDetail['reasons'][number];

/** Returns the table of dead and failed deliveries by reason, with links to them, and actions on all deliveries with the same reason. */
export function reasonTable({ reasons, reasons_complete, sink }: SinkDetail): VNode {
  return html`<section><h2>Dead and failed deliveries by reason</h2>
    ${table<ReasonGroup>({
      name: 'Dead and failed deliveries by reason',
      columns: [
        { label: 'State', of: ({ state }) => badge(state) },
        {
          label: 'Deliveries',
          of: (group) =>
            html`<a href=${withQuery('/deliveries', reasonFilter({ sink, ...group }))}>${printCount(group.deliveries)}</a>`,
          number: true,
        },
        { label: 'Reason', of: ({ reason }) => html`<bdi>${formattedText(reason)}</bdi>`, text: true },
        { label: 'Actions', of: (group) => reasonActions(sink, group) },
      ],
      rows: reasons,
      key: (row) => `reason-${reasons.indexOf(row)}`,
      empty: 'No delivery is dead or has failed.',
    })}
    ${!reasons_complete && html`<p class="hint">Counts at most 5,000 deliveries in each state.</p>`}
  </section>`;
}

function reasonActions(sink: string, group: ReasonGroup): Content {
  const filter = reasonFilter({ sink, ...group });
  return html`<div class="actions">
    ${may('retry') && confirmAllButton(withQuery('/deliveries/retry', filter), 'Retry…')}
    ${may('discard') && group.state === 'dead' && confirmAllButton(withQuery('/deliveries/discard', filter), 'Discard…')}
  </div>`;
}
