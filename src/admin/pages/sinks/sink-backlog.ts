import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { printCount, printSpanRange } from '../../../platform/text/human-readable.ts';
import type { SinkDetail } from '../../contract/sinks.ts';
import { table } from '../parts/table.ts';

/** Returns the pending deliveries by age. */
export function backlogTable({ backlog }: SinkDetail): VNode {
  return html`<section><h2>Backlog by age</h2>${table({
    name: 'Pending deliveries by age',
    columns: [
      {
        label: 'Owed for',
        of: (group) =>
          printSpanRange(
            group.from_seconds * 1000,
            group.to_seconds === null ? undefined : group.to_seconds * 1000,
          ),
      },
      {
        label: 'Pending',
        of: ({ deliveries, at_least }) => `${at_least ? 'at least ' : ''}${printCount(deliveries)}`,
        number: true,
      },
    ],
    rows: backlog.filter(({ deliveries }) => deliveries > 0),
    key: (group) => `age-${group.from_seconds}`,
    empty: 'Nothing is pending.',
  })}</section>`;
}
