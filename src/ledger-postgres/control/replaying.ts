import type { LeadId } from '../../leads/lead.ts';
import type { LeadChoice, ReplayTotals } from '../../ledger/contract/ledger-control.ts';
import {
  type ReplaySelection,
  selectionFor,
  selectionOf,
} from '../../ledger/rules/control/replay-selection.ts';
import { leftOutEvent, type NewestVersion } from '../../ledger/rules/delivering/superseding.ts';
import { FROM_NEWEST } from '../../ledger/rules/queries/keyset-page.ts';
import { findSink, getSink, type Sink } from '../database/sinks.ts';
import { texts, type Value } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { LeadDeliveries } from '../delivering/lead-deliveries.ts';
import { NewestContent } from '../delivering/superseding.ts';
import { deliveryNumbers } from '../queries/delivery-list.ts';
import { type CurrentLead, replayingSql } from './replaying-sql.ts';

const { ABANDONED, ASK, BETWEEN, GET, LISTED, NEWEST_VERSION, OF_DELIVERIES, OF_LEAD, PROGRESS } =
  replayingSql;

/** Maximum numbers of leads that a step records as owed and of versions that it reads. */
const MAX_OWED_PER_STEP = 300;
const MAX_READ_PER_STEP = 3_000;
/** Maximum number of leads that a count names. */
const SAMPLE = 10;
/** Time without a step after which a replay counts as left unfinished by a killed process, in ms. */
const ABANDONED_MS = 10_000;

/** The current versions of the leads that some ids name, and the ids that belong to no lead or to a delivery of another sink. */
interface LeadsToReplay {
  readonly versions: readonly number[];
  readonly unmatched: readonly string[];
}

/** Finds the leads for the ids of a choice. Returns undefined if the choice has no ids. Only reads. */
export async function findChosen(
  tx: Transaction,
  sink: string,
  choice: LeadChoice,
): Promise<LeadsToReplay | undefined> {
  const { source, lead, ids = { leads: lead === undefined ? [] : [lead], deliveries: [] } } = choice;
  if (lead === undefined && choice.ids === undefined) return undefined;
  const [versions, unmatched] = [new Set<number>(), [] as string[]];
  const add = (id: string, found: readonly { readonly version_no: number }[]) => {
    for (const { version_no } of found) versions.add(version_no);
    if (found.length === 0) unmatched.push(id);
  };
  for (const id of ids.leads)
    add(String(id), lead === undefined || id === lead ? await tx.rows(OF_LEAD, [id, source ?? null]) : []);
  for (const delivery of ids.deliveries) {
    const numbers = await deliveryNumbers(tx, { delivery, sink, source, lead }, FROM_NEWEST, 1);
    const known = numbers.map(({ no }) => no);
    add(delivery, known.length > 0 ? await tx.rows(OF_DELIVERIES, [known]) : []);
  }
  return { versions: [...versions], unmatched };
}

/** Stores a replay of all leads that match now. Returns its number, or undefined if there is no such sink. */
export async function ask(
  tx: Transaction,
  name: string,
  choice: LeadChoice,
  found: readonly number[] | undefined,
): Promise<number | undefined> {
  tx.requireOwingLock();
  const sink = await findSink(tx, name);
  if (!sink) return undefined;
  const { source, since, until, result, versions, leftOut } = selectionFor(choice, found);
  const chosen = result || versions ? JSON.stringify({ result, versions }) : null;
  const asked = [sink.sinkNo, tx.now, leftOut ? 1 : 0, source, since, until, chosen];
  return (await tx.first(ASK, asked))?.replay_no;
}

/** Carries out the next step of a replay. `owed` is the total of all its steps. */
export async function step(tx: Transaction, replayNo: number): Promise<{ owed: number; done: boolean }> {
  tx.requireOwingLock();
  const replay = await tx.first(GET, [replayNo]);
  if (!replay || replay.through >= replay.bound) return { owed: replay?.owed ?? 0, done: true };
  const sink = await getSink(tx, replay.sink_no);
  const selection = selectionOf(replay);
  const { leads, through } = await partOf(tx, sink, selection, replay.through, replay.bound);
  const content = await NewestContent.of(tx, leads, [sink]);
  for (const lead of leads) {
    if (selection.leftOut) {
      const event = leftOutEventOf(sink, content.deliveries, lead);
      if (event) content.oweBehind(sink, lead, { event, replay: replay.asked_at, was_left_out: 1 });
    } else {
      content.giveWay(sink, lead);
      content.oweBehind(sink, lead, { event: 'created', replay: replay.asked_at });
    }
  }
  const owed = replay.owed + (await content.write(tx)).length;
  await tx.run(PROGRESS, [replayNo, through, owed, tx.now]);
  return { owed, done: through >= replay.bound };
}

/** Counts the leads of one step of a replay that is not requested yet. `next` is undefined after the last step. Only reads. */
export async function countStep(
  tx: Transaction,
  name: string,
  choice: LeadChoice,
  { found, after }: { readonly found: readonly number[] | undefined; readonly after: number },
): Promise<Omit<ReplayTotals, 'unmatched'> & { readonly next: number | undefined }> {
  const sink = await findSink(tx, name);
  if (!sink) return { leads: 0, sources: [], sample: [], next: undefined };
  const bound = (await tx.first(NEWEST_VERSION))?.no ?? 0;
  const selection = selectionFor(choice, found);
  const { leads, through } = await partOf(tx, sink, selection, after, bound);
  const deliveries = selection.leftOut ? await LeadDeliveries.read(tx, leads, [sink.sinkNo]) : undefined;
  const matching = leads.filter(
    (lead) => !deliveries || leftOutEventOf(sink, deliveries, lead) !== undefined,
  );
  return {
    leads: matching.length,
    sources: [...new Set(matching.map(({ source }) => source))],
    sample: matching.slice(0, SAMPLE).map(({ source, id }) => ({ source, leadId: id })),
    next: through < bound ? through : undefined,
  };
}

/** Returns the numbers of unfinished replays whose processes were killed. */
export async function abandoned(tx: Transaction): Promise<number[]> {
  return (await tx.rows(ABANDONED, [tx.now, ABANDONED_MS])).map(({ replay_no }) => replay_no);
}

/** Counts a step into the totals of a replay. */
export function addTotals(totals: ReplayTotals, step: Omit<ReplayTotals, 'unmatched'>): ReplayTotals {
  return {
    leads: totals.leads + step.leads,
    sources: [...new Set([...totals.sources, ...step.sources])].sort(),
    sample: [...totals.sample, ...step.sample].slice(0, SAMPLE),
    unmatched: totals.unmatched,
  };
}

function leftOutEventOf(
  { sinkNo, events }: Sink,
  deliveries: LeadDeliveries,
  { versionNo, source, id }: NewestVersion,
) {
  const lastArrived = () => deliveries.lastArrived(sinkNo, source, id);
  return leftOutEvent(events, versionNo, deliveries.last(sinkNo, source, id), lastArrived);
}

interface Part {
  readonly leads: readonly (NewestVersion & { readonly id: LeadId })[];
  readonly through: number;
}

async function partOf(
  tx: Transaction,
  { sinkNo }: Sink,
  selection: ReplaySelection,
  after: number,
  bound: number,
): Promise<Part> {
  const { versions } = selection;
  const to = versions ? bound : Math.min(after + MAX_READ_PER_STEP, bound);
  const matching = parametersOf(selection, sinkNo);
  const found: CurrentLead[] = versions
    ? await tx.rows(LISTED, [...matching, after, MAX_OWED_PER_STEP, versions])
    : await tx.rows(BETWEEN, [...matching, after, MAX_OWED_PER_STEP, to, bound]);
  const leads = found.map(({ version_no, source, id }) => ({
    versionNo: version_no,
    source,
    id: BigInt(id),
  }));
  return { leads, through: found.length < MAX_OWED_PER_STEP ? to : (found.at(-1)?.at ?? to) };
}

/** Returns the parameters of the condition that both statements share. */
function parametersOf({ source, since, until, result }: ReplaySelection, sinkNo: number): Value[] {
  return [
    source,
    since,
    until,
    result !== undefined,
    sinkNo,
    result?.states == null ? null : texts(JSON.parse(result.states) as string[]),
    result?.reason ?? null,
    result?.httpStatus ?? null,
    result?.deliveredSince ?? null,
    result?.deliveredUntil ?? null,
  ];
}
