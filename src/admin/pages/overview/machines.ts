import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { workOf } from '../../../leads/duty-words.ts';
import type { Overview } from '../../contract/overview.ts';
import { badge } from '../parts/badge.ts';
import type { Content } from '../parts/content.ts';
import { table } from '../parts/table.ts';
import { ago } from '../parts/time-element.ts';

type Machine = Overview['machines'][number];

/** Returns the section of the processes on a ledger in PostgreSQL; false if the ledger is in a file. */
export function machineSection(machines: readonly Machine[], now: Date): Content {
  return (
    machines.length > 0 &&
    html`<section id="machines"><h2>Machines</h2>${machineTable(machines, now)}</section>`
  );
}

function machineTable(machines: readonly Machine[], now: Date): VNode {
  return table({
    name: 'Machines',
    compact: true,
    columns: [
      { label: 'Machine', of: ({ machine }) => html`<bdi>${machine}</bdi>` },
      { label: 'State', of: ({ state, role }) => [badge(state), html` <small>${role}</small>`], text: true },
      {
        label: 'Work',
        of: ({ duties }) =>
          duties.length === 0 ? none() : html`<small><bdi>${duties.map(workOf).join(', ')}</bdi></small>`,
        text: true,
      },
      { label: 'Version', of: ({ version }) => version ?? none(), wide: true },
      { label: 'Configuration', of: ({ config_fingerprint: print }) => print ?? none(), wide: true },
      { label: 'Started', of: (one) => ago(one.started_at, now), number: true, wide: true },
      { label: 'Last seen', of: (one) => ago(one.last_seen_at, now), number: true },
    ],
    rows: machines,
    key: ({ machine, role, started_at }) => `machine-${machine}-${role}-${Date.parse(started_at)}`,
    empty: null,
  });
}

function none(): VNode {
  return html`<span class="none">–</span>`;
}
