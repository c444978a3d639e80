import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { printCount } from '../../platform/text/human-readable.ts';
import type { Alerts } from '../contract/alerts.ts';
import { runbookAddress } from './parts/addresses.ts';
import { badge } from './parts/badge.ts';
import type { Content } from './parts/content.ts';
import { formattedText } from './parts/formatted-text.ts';
import type { AddPage } from './parts/site.ts';
import { table } from './parts/table.ts';
import { ago, moment } from './parts/time-element.ts';

/** Adds the page that shows the alerts: which conditions hold, who was notified and when, and what comes next. */
export const addAlerts: AddPage = (app, site) => {
  app.get('/alerts', { config: { operation: 'alerts' } }, async (request, reply) =>
    site.show(request, reply, {
      title: 'Alerts',
      name: 'Alerts',
      live: body(await site.operations.alerts(), new Date()),
    }),
  );
};

type Alert = Alerts['alerts'][number];

function body({ alerts, destinations }: Alerts, now: Date): Content {
  if (destinations.length === 0)
    return html`<p class="empty">No destination is configured, so leadsync sends no alerts and evaluates no condition. Add one under <code>alerts.to</code> in the configuration, then reload it. The overview shows the problems of the moment.</p>`;
  return [
    alertTable(alerts, now),
    html`<p class="hint">leadsync evaluates the conditions every 15 s. A condition must last as long as <code>alerts.when</code> says before it is reported. Each notice goes to every destination, at most one message per minute. While an alert is active, a reminder follows after a day, or earlier if a count grows a lot. An alert that is over stays here for 6 hours.</p>`,
    html`<section><h2>Destinations</h2>${destinationTable(destinations, now)}</section>`,
  ];
}

function alertTable(alerts: readonly Alert[], now: Date): VNode {
  return table({
    name: 'Alerts',
    columns: [
      { label: 'State', of: ({ state }) => badge(state) },
      {
        label: 'Alert',
        of: ({ condition, runbook }) =>
          html`<a href=${runbookAddress(runbook)} title="See runbook">${condition.replaceAll('_', ' ')}</a>`,
      },
      { label: 'About', of: ({ about }) => html`<bdi>${about ?? 'leadsync'}</bdi>` },
      { label: 'Message', of: ({ message }) => html`<bdi>${formattedText(message)}</bdi>`, text: true },
      { label: 'Since', of: ({ since }) => ago(since, now), number: true },
      { label: 'Last notice', of: (alert) => lastNotice(alert, now), number: true },
      { label: 'Next notice', of: nextNotice },
    ],
    rows: alerts.toSorted((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state)),
    key: ({ condition, about }) => `alert-${condition}-${about ?? ''}`,
    empty: 'No condition for an alert holds, and none held in the last 6 hours.',
  });
}

const ORDER: readonly Alert['state'][] = ['active', 'ending', 'new', 'over'];

/** Returns the age of the last notice, with the destinations that have not got it yet. */
function lastNotice({ reported_at, over_at, unsent_to }: Alert, now: Date): Content {
  return [
    ago(over_at ?? reported_at, now, 'none yet'),
    unsent_to.length > 0 && html`<small class="until">not yet sent to ${unsent_to.join(', ')}</small>`,
  ];
}

function nextNotice({ condition, next_notice, next_notice_at }: Alert): Content {
  switch (next_notice) {
    case 'first':
      return html`the first, once it has lasted as long as <code>alerts.when.${condition}</code> says`;
    case 'reminder':
      return html`reminder ${moment(next_notice_at)}`;
    case 'over':
      return html`that it is over, ${moment(next_notice_at)}`;
    case null:
      return html`<span class="none">–</span>`;
  }
}

function destinationTable(destinations: Alerts['destinations'], now: Date): VNode {
  return table({
    name: 'Destinations of alerts',
    columns: [
      { label: 'Destination', of: ({ name }) => name },
      { label: 'Type', of: ({ type }) => type },
      { label: 'Unsent notices', of: ({ unsent }) => printCount(unsent), number: true },
      { label: 'Oldest', of: ({ unsent_since }) => ago(unsent_since, now, '–'), number: true },
    ],
    rows: destinations,
    key: ({ name }) => `destination-${name}`,
    empty: null,
  });
}
