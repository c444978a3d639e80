import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { countOf, printCount, printShare, printSpan } from '../../../platform/text/human-readable.ts';
import type { SinkDetail } from '../../contract/sinks.ts';
import { badge } from '../parts/badge.ts';
import type { Content } from '../parts/content.ts';
import { formattedText } from '../parts/formatted-text.ts';
import { table } from '../parts/table.ts';
import { moment } from '../parts/time-element.ts';

/** Returns the section on a sink's circuit breaker: its failure rate, its limits and its next probe. Null if there is none, or if the sink was removed. */
export function breakerFacts({ breaker, state, next_attempt_at: next }: SinkDetail): Content {
  if (breaker === null || state === 'orphaned') return null;
  const {
    failure_rate: rate,
    recent_attempts: attempts,
    failed_probes: probes,
    concurrency,
    max_concurrency: most,
  } = breaker;
  const isHeld = probes !== null;
  return html`<section><h2>Circuit breaker</h2>
    ${breaker.explanation !== null && html`<p>${breaker.explanation}</p>`}
    <dl class="facts">
      ${fact(isHeld ? 'Failure rate before the hold' : 'Failure rate', rate === null ? 'no batch yet' : `${printShare(rate)} of the last ${countOf(attempts, 'batch', 'batches')}`)}
      ${fact('Held as soon as', holdConditions(breaker))}
      ${concurrency !== null && fact('Concurrent batches', concurrency === most ? printCount(concurrency) : `${printCount(concurrency)} now, grows to ${printCount(most ?? 0)}`)}
      ${isHeld && fact('Failed probes', printCount(probes))}
      ${state === 'held' && fact('Next probe', moment(next))}
    </dl>
    <p class="hint">These figures count batches, which are leads that are sent together. The attempts below are counted for each lead. A batch fails if the destination does not work:
      it cannot be reached, or it answers, for example, HTTP 503 or 401. A lead that the destination refuses, for example with HTTP 422, does not count in the failure rate; only ${countOf(breaker.held_at_consecutive_refusals, 'such lead')} in a row ${breaker.held_at_consecutive_refusals === 1 ? 'holds' : 'hold'} the sink.</p>
  </section>`;
}

/** Returns the conditions under which the circuit breaker opens, in words. */
function holdConditions({
  held_at_failures: failures,
  held_at_attempts: attempts,
  held_at_consecutive_failures: inRow,
  held_at_consecutive_refusals: refusals,
}: NonNullable<SinkDetail['breaker']>): string {
  return `${failures} of the last ${attempts} batches failed; ${countOf(inRow, 'batch', 'batches')} in a row failed, and no lead was delivered for 5 s; ${countOf(refusals, 'lead')} in a row ${refusals === 1 ? 'was' : 'were'} refused; or the destination asks for a pause`;
}

function fact(label: string, value: Content): VNode {
  return html`<div><dt>${label}</dt><dd>${value}</dd></div>`;
}

type Hold = SinkDetail['holds'][number];

/** Returns the table of a sink's holds and pauses, with their lengths and reasons. */
export function holdTable({ holds, at }: SinkDetail): VNode {
  return html`<section><h2>Held and paused <small>most recent first</small></h2>${table<Hold>({
    name: 'When the sink was held or paused',
    columns: [
      { label: 'Since', of: ({ since }) => moment(since) },
      { label: 'State', of: ({ kind, times }) => [badge(kind), times > 1 && ` ${printCount(times)} times`] },
      { label: 'For', of: (hold) => lengthOf(hold, at) },
      {
        label: 'Reason',
        of: ({ reason }) => reason !== null && html`<bdi>${formattedText(reason)}</bdi>`,
        text: true,
      },
    ],
    rows: holds,
    key: ({ since, kind }) => `hold-${kind}-${since}`,
    empty: 'It has been neither held nor paused since leadsync began to record this.',
  })}</section>`;
}

function lengthOf({ since, until }: Hold, at: string): string {
  const length = printSpan(Date.parse(until ?? at) - Date.parse(since));
  return until === null ? `${length} so far` : length;
}
