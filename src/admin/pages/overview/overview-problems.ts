import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { printCount } from '../../../platform/text/human-readable.ts';
import type { Overview, SinkOverview } from '../../contract/overview.ts';
import { may } from '../../contract/rights.ts';
import { goneLeadsAddress, runbookAddress, sinkAction, sinkAddress, withQuery } from '../parts/addresses.ts';
import { confirmAllButton, confirmButton } from '../parts/confirmation.ts';
import type { Content } from '../parts/content.ts';
import { formattedText } from '../parts/formatted-text.ts';
import { link } from '../parts/link.ts';
import { nextStepOf } from '../parts/next-step.ts';
import { problemId } from '../parts/problem-id.ts';
import { pollButton } from '../sources/poll-now.ts';
import { backupId, exportId } from './exports.ts';
import { runButton } from './run-export.ts';

/** Returns the problems, one per row: its severity, what is wrong, and what the reader can do about it. */
export function problemList({ problems, sinks }: Overview): Content {
  if (problems.length === 0) return null;
  return html`<ul class="problems" aria-label="Problems">${problems.map((problem) => {
    const { code, severity, message, runbook } = problem;
    const { actions, step } = offersFor(problem, sinks);
    return html`<li id=${problemId(problem)} class=${severity}>
      <strong>${severity === 'critical' ? 'Critical' : 'Warning'}</strong>
      <p>${formattedText(message)} <span class="next">${formattedText(step)}</span></p>
      <div class="actions">${actions}${link(runbookAddress(runbook), 'See runbook', code.replaceAll('_', ' '))}</div>
    </li>`;
  })}</ul>`;
}

/** The links and buttons for a problem, and the part of its next step that they do not cover. */
interface Offers {
  readonly actions: readonly Content[];
  readonly step: string;
}

type Actions = (about: string, sink: SinkOverview | undefined) => readonly Content[];

/** Links and buttons that cover the whole next step. */
const INSTEAD_OF_STEP: Readonly<Record<string, Actions>> = {
  sink_paused: (sink) => [
    toSink(sink),
    may('resume') && confirmButton(sinkAction(sink, 'resume', 'overview'), 'Resume…'),
  ],
  deliveries_dead: (name, sink) => {
    const filter = { sink: name, state: 'dead' };
    return [
      link(withQuery('/deliveries', filter), `See ${printCount(sink?.dead ?? 0)} dead`, name),
      may('retry') &&
        sink?.state !== 'orphaned' &&
        confirmAllButton(withQuery('/deliveries/retry', filter), 'Retry…'),
      may('discard') && confirmAllButton(withQuery('/deliveries/discard', filter), 'Discard…'),
    ];
  },
  leads_retried: (sink) => [
    toPending(sink),
    may('retry') &&
      confirmAllButton(withQuery('/deliveries/retry', { sink, state: 'pending' }), 'Retry now…'),
  ],
  never_polled: (source) => [toPolls(source), toLog(), pollButton(source)],
  poll_late: (source) => [toPolls(source), toLog(), pollButton(source)],
  config_stale: () => [may('configuration') && link('/configuration', 'See configuration')],
};

/** Links and buttons that appear beside the next step, because they cover only part of it or none. */
const BESIDE_STEP: Readonly<Record<string, Actions>> = {
  sink_held: (sink) => [
    toSink(sink),
    may('resume') && confirmButton(sinkAction(sink, 'resume', 'overview'), 'Try now…'),
  ],
  leads_rejected: (source) => [
    link(withQuery('/rejected', { source, state: 'open' }), 'See rejected leads', source),
  ],
  leads_stuck: (sink) => [toPending(sink), toLog()],
  sink_new: (sink) => [toSink(sink)],
  sink_removed: (sink) => [toPending(sink)],
  sink_disabled: (sink) => [toPending(sink)],
  poll_failed: (source) => [toPolls(source), pollButton(source)],
  source_refused: (source) => [toPolls(source), pollButton(source)],
  listing_shrunk: (source) => [
    toPolls(source),
    link(goneLeadsAddress(source), 'See leads that are gone', source),
  ],
  source_removed: (source) => [link(withQuery('/leads', { source }), 'See leads', source)],
  duty_free: () => [toMachines()],
  process_missing: () => [toMachines()],
  config_differs: () => [toMachines()],
  clock_differs: () => [toMachines()],
  export_fails: (name) => [link(`#${exportId(name)}`, 'See export', name), runButton('export', name)],
  backup_fails: (name) => [link(`#${backupId(name)}`, 'See backup', name), runButton('backup', name)],
};

function offersFor(problem: Overview['problems'][number], sinks: readonly SinkOverview[]): Offers {
  const { code, about } = problem;
  const name = about ?? '';
  const sink = sinks.find((one) => one.sink === name);
  const instead = INSTEAD_OF_STEP[code]?.(name, sink);
  const offered = instead ?? BESIDE_STEP[code]?.(name, sink) ?? [];
  const isCovered = instead !== undefined && sink?.state !== 'orphaned';
  return { actions: offered.filter(Boolean), step: nextStepOf(problem, isCovered) };
}

function toSink(sink: string): VNode {
  return link(sinkAddress(sink), 'See sink', sink);
}

function toPending(sink: string): VNode {
  return link(withQuery('/deliveries', { sink, state: 'pending' }), 'See pending', sink);
}

function toPolls(source: string): VNode {
  return link(withQuery('/polls', { source }), 'See polls', source);
}

function toMachines(): VNode {
  return link('#machines', 'See machines');
}

function toLog(): VNode {
  return link('/log', 'See log');
}
