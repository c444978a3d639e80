import type { FastifyReply, FastifyRequest } from 'fastify';
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { countOf, printCount, printShare, sentence } from '../../../platform/text/human-readable.ts';
import type { Overview, SinkOverview } from '../../contract/overview.ts';
import { may } from '../../contract/rights.ts';
import { replayAddress, runbookAddress, sinkAction } from '../parts/addresses.ts';
import { badge } from '../parts/badge.ts';
import { confirmButton } from '../parts/confirmation.ts';
import type { Content } from '../parts/content.ts';
import { formattedText } from '../parts/formatted-text.ts';
import { link } from '../parts/link.ts';
import { nextStepOf } from '../parts/next-step.ts';
import type { Site } from '../parts/site.ts';
import { moment } from '../parts/time-element.ts';

/** The label of a healthy sink shows the share of its last batches that failed if the share is at least this. */
const NOTED_RATE = 0.1;

/**
 * Returns the state and the problems of a sink as labels. A sink that works but has a problem is not labelled as healthy, so that no page
 * contradicts the list of problems.
 */
export function sinkBadges(sink: SinkOverview): Content {
  const { state, problems, dead } = sink;
  const marks = [
    problems.includes('leads_stuck') && badge('stuck'),
    problems.includes('deliveries_dead') && badge('dead', `${printCount(dead)} dead`),
    problems.includes('leads_retried') && badge('retrying'),
    problems.includes('backlog_old') && badge('behind'),
    problems.includes('slow_to_lead') && badge('slow'),
    problems.includes('sink_new') && badge('new'),
  ].filter((mark) => mark !== false);
  const all = state === 'healthy' && marks.length > 0 ? marks : [stateBadge(sink), ...marks];
  return all.flatMap((mark) => [mark, ' ']);
}

/** Returns a label for the state of a sink. For a healthy sink, the label says so if nothing has been attempted yet or if many attempts fail. */
function stateBadge({ state, breaker, delivered, dead, retrying }: SinkOverview): VNode {
  if (state !== 'healthy' || breaker === null) return badge(state);
  const { recent_attempts: attempts, failure_rate: rate } = breaker;
  if (attempts + delivered + dead + retrying === 0) return badge('untried');
  if (rate === null || rate < NOTED_RATE) return badge(state);
  return badge(
    'failing',
    `healthy, ${printShare(rate)} of the last ${countOf(attempts, 'batch', 'batches')} failed`,
  );
}

/** Returns a paragraph on the state of a sink and what happens to its leads; null if the sink is healthy. */
export function stateExplanation(
  { sink, state, reason, since, pending }: SinkOverview,
  rewriteCommands: Site['rewriteCommands'],
): Content {
  const when = since && html` since ${moment(since)}`;
  const why = reason ? html`: <bdi>${formattedText(sentence(rewriteCommands(reason)))}</bdi>` : '.';
  switch (state) {
    case 'healthy':
      return null;
    case 'held':
      return html`<p class="said">Held${when}${why} Its leads wait without using up attempts, and single probes test whether the destination works again.</p>`;
    case 'paused':
      return html`<p class="said">Paused${when}${why} Its leads wait until you resume it.</p>`;
    case 'disabled':
      return html`<p class="said">Disabled in the configuration. Its leads wait until you enable it.</p>`;
    case 'orphaned':
      if (pending === 0) return html`<p class="said">No longer in the configuration.</p>`;
      return html`<p class="said">No longer in the configuration. Its pending deliveries are kept until you add it again, or until ${formattedText(rewriteCommands(`\`leadsync forget ${sink}\``))} skips them.</p>`;
  }
}

/** Returns the operator's next step for a held sink, with a link to the section of the manual; null if the sink is not held. */
export function stepOfHold(problems: Overview['problems'], sink: string): Content {
  const held = problems.find(({ code, about }) => code === 'sink_held' && about === sink);
  if (held === undefined) return null;
  return html`<p class="said">${formattedText(nextStepOf(held, false))} ${link(runbookAddress(held.runbook), 'See runbook', 'sink held')}</p>`;
}

/**
 * Returns the sinks: first those with a critical problem, then those with another problem, then the others. Otherwise keeps the order of the
 * configuration.
 */
export function worstFirst({ sinks, problems }: Pick<Overview, 'sinks' | 'problems'>): SinkOverview[] {
  const rank = ({ sink, problems: codes }: SinkOverview): number => {
    const own = problems.filter(({ about, code }) => about === sink && codes.includes(code));
    if (own.some(({ severity }) => severity === 'critical')) return 0;
    return codes.length > 0 ? 1 : 2;
  };
  return sinks.toSorted((one, other) => rank(one) - rank(other));
}

/**
 * Returns the buttons for the actions that are possible in a sink's state. Each action returns to the page of its button: the list, or the
 * sink's page.
 */
export function sinkButtons(sink: SinkOverview, from: 'list' | 'page'): Content {
  if (sink.state === 'orphaned' || !may('pause')) return null; // every action of a sink needs the same role
  const { sink: name, state, dead, replays_pending } = sink;
  const address = (action: Parameters<typeof sinkAction>[1]) => sinkAction(name, action, from);
  return [
    state === 'paused'
      ? confirmButton(address('resume'), 'Resume…', { primary: true })
      : confirmButton(address('pause'), 'Pause…'),
    // Not the primary action, because leadsync sends a probe by itself, often within seconds.
    state === 'held' && confirmButton(address('resume'), 'Try now…'),
    confirmButton(address('test'), 'Test…'),
    from === 'page' &&
      may('replayAll') &&
      html`<a class="button" href=${replayAddress({ sink: name })}>Replay…</a>`,
    replays_pending > 0 && confirmButton(address('cancel-replay'), 'Cancel replay…'),
    dead > 0 && confirmButton(address('retry'), `Retry ${printCount(dead)} dead…`),
  ];
}

/** Sends the error page for a sink that is not in the configuration. Names the new name of a renamed sink. */
export async function noSuchSink(site: Site, request: FastifyRequest, reply: FastifyReply, sink: string) {
  const renamed = (await site.operations.sinks()).find(({ formerly }) => formerly === sink);
  return site.fail(request, reply, {
    title: 'No such sink',
    what: `The configuration in force has no sink “${sink}”${renamed ? `: it was renamed to ${renamed.sink}` : ''}.`,
    next: renamed
      ? `See ${renamed.sink} on the page Sinks.`
      : 'A reload may have removed or renamed it; see the page Sinks.',
    status: 404,
  });
}
