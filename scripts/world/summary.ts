import { printSpan } from '../../src/platform/text/human-readable.ts';
import { type Comparison, compare, isExact } from '../showcase/comparison.ts';
import type { ToldNotice } from './alert-receiver.ts';
import type { Destination } from './destinations.ts';
import type { Receiver } from './receiver.ts';

/** What has arrived at one destination, compared with what the sources listed. */
export interface Arrived {
  readonly sink: string;
  readonly comparison: Comparison;
  /** Leads that the destination refused, and that are therefore not missing. */
  readonly refused: number;
  readonly receiver: Receiver | undefined;
}

/** Compares a destination with what the sources listed. */
export async function arrivedAt(listed: readonly number[], destination: Destination): Promise<Arrived> {
  const { sink, receiver } = destination;
  const tally = await destination.tally();
  const isRefused = (id: number) => receiver?.refused.has(id) === true && !tally.has(id);
  const expected = listed.filter((id) => !isRefused(id));
  return {
    sink,
    receiver,
    comparison: compare(expected, tally),
    refused: listed.length - expected.length,
  };
}

/** Whether the destination has each lead exactly once. */
export function isRight({ comparison, receiver }: Arrived): boolean {
  return isExact(comparison) && (receiver?.unsigned ?? 0) === 0;
}

/** Returns the summary of a run; `startedMs` is its start, in ms of the process. */
export function summaryOf(run: {
  readonly listed: number;
  readonly arrived: readonly Arrived[];
  readonly told: readonly ToldNotice[];
  readonly startedMs: number;
}): string {
  const lines = run.arrived.map((one) => arrivedLine(one, run.startedMs));
  return `\n  ${'listed'.padEnd(10)} ${String(run.listed).padStart(6)} leads\n${lines.join('')}  ${'alerts'.padEnd(13)} ${alertCounts(run.told)}\n`;
}

function arrivedLine({ sink, comparison, refused, receiver }: Arrived, startedMs: number): string {
  const { arrived, missing, repeated, unknown } = comparison;
  const counts = [
    `${String(arrived).padStart(6)} delivered`,
    ...(refused > 0 ? [`${refused} refused`] : []),
    `lost ${missing.length}`,
    `twice ${repeated.length}`,
    ...(unknown.length > 0 ? [`${unknown.length} never listed`] : []),
    ...(receiver && receiver.unsigned > 0 ? [`${receiver.unsigned} without a valid signature`] : []),
  ];
  return `  ${sink.padEnd(10)} ${counts.join(', ')}${receiver ? speedOf(receiver, startedMs) : ''}\n`;
}

/** Returns the number of notices by condition, without reminders and ends: `2 sink_held, 1 export_fails`. */
function alertCounts(told: readonly ToldNotice[]): string {
  const counts = Map.groupBy(
    told.filter(({ state }) => state === 'begun'),
    ({ condition }) => condition,
  );
  const parts = [...counts].map(([condition, notices]) => `${notices.length} ${condition}`);
  return parts.length === 0 ? 'none' : parts.join(', ');
}

function speedOf(receiver: Receiver, startedMs: number): string {
  const within = (share: number) => printSpan(receiver.newLeadsWithinMs(share) ?? 0);
  const { lastOldAtMs } = receiver;
  const parts = [
    ...(lastOldAtMs === undefined
      ? []
      : [`those listed from the start within ${printSpan(lastOldAtMs - startedMs)}`]),
    ...(receiver.newLeadsWithinMs(1) === undefined
      ? []
      : [`half of the new ones within ${within(0.5)}, 95 % within ${within(0.95)}`]),
  ];
  return parts.length === 0 ? '' : `; ${parts.join('; ')}`;
}
