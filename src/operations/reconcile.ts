import type { LeadAtSink } from '../leads/lead-at-sink.ts';
import type { LedgerControl } from '../ledger/contract/ledger-control.ts';
import type { LedgerQueries } from '../ledger/contract/ledger-queries.ts';
import { IdSet } from '../ledger/recording/id-set.ts';
import type { Clock } from '../platform/time/clock.ts';
import type { StoredLead } from '../sinks/sink.ts';

/** Leads in one look at the ledger. */
const CHUNK = 500;
/** What was delivered later than this from now, in ms, was so before the clock was set back, and not while it is compared. */
const AHEAD_MS = 60_000;

/** Where ledger and sink disagree about a lead. */
export interface Difference {
  /** `missing`: delivered, and not held. `foreign`: held, and not by a delivery of this ledger. */
  readonly kind: 'missing' | 'foreign';
  readonly source: string;
  readonly leadId: bigint;
  readonly why: string;
  /** The file that holds it, where it is foreign. */
  readonly file?: string | undefined;
  /** It is owed: again since this repair, or already. */
  readonly owed: boolean;
}

/** What a comparison found, in numbers. */
export interface ReconcileResult {
  /** Leads that the ledger says were delivered. */
  readonly delivered: number;
  /** Leads, or rows of files, that the sink holds. */
  readonly held: number;
  readonly missing: number;
  readonly foreign: number;
}

/**
 * What is compared, and whether it is mended. Of differences, `onDifference` hears the foreign first, then the missing.
 */
export interface ReconcileParts {
  readonly sink: string;
  readonly ledger: LedgerQueries & LedgerControl;
  readonly clock: Clock;
  readonly repair: boolean;
  readonly onDifference: (difference: Difference) => void;
}

/**
 * Compares what the ledger says was delivered to a sink with what the sink holds, and with `repair` owes again what is
 * missing. Keeps one bit of each lead in memory. What is delivered while it goes on is left out of it.
 * @throws SinkUnavailable, LedgerError
 */
export async function reconcile(
  held: AsyncIterable<StoredLead>,
  parts: ReconcileParts,
): Promise<ReconcileResult> {
  const from = parts.clock.now();
  const present = new IdSet();
  const { rows, foreign } = await readHeld(held, present, parts);
  const { delivered, missing } = await findMissing(present, from, parts);
  return { delivered, held: rows, missing, foreign };
}

async function readHeld(
  held: AsyncIterable<StoredLead>,
  present: IdSet,
  { sink, ledger, onDifference }: ReconcileParts,
): Promise<{ rows: number; foreign: number }> {
  let [rows, foreign] = [0, 0];
  for await (const part of inChunks(held)) {
    const states = await ledger.leadsAtSink(sink, part);
    for (const [at, { source, leadId, version, file }] of part.entries()) {
      const state = states[at] as LeadAtSink;
      rows += 1;
      if (state.lead !== undefined && version >= (state.delivered ?? 0)) present.add(state.lead);
      const why = whyForeign(state);
      if (why === undefined) continue;
      foreign += 1;
      onDifference({ kind: 'foreign', source, leadId, why, file, owed: state.owed });
    }
  }
  return { rows, foreign };
}

/** What is owed may have arrived already, without that being known. */
function whyForeign({ lead, erased, delivered, owed }: LeadAtSink): string | undefined {
  if (lead === undefined) return 'The ledger does not know it.';
  if (erased) return 'It was erased.';
  return delivered === undefined && !owed ? 'The ledger never delivered it there.' : undefined;
}

/** Behind what a repair cannot mend. */
const NO_CONTENT = ' The ledger no longer has its content, so nobody can bring it again.';

async function findMissing(
  present: IdSet,
  from: Date,
  { sink, ledger, clock, repair, onDifference }: ReconcileParts,
): Promise<{ delivered: number; missing: number }> {
  let [delivered, missing] = [0, 0];
  for (let after = 0; ; ) {
    const during = { from, to: new Date(clock.now().getTime() + AHEAD_MS) };
    const leads = await ledger.deliveredLeads(sink, during, after, CHUNK);
    for (const { lead, source, leadId, version, owed } of leads) {
      if (version === undefined) continue;
      delivered += 1;
      if (present.has(lead)) continue;
      missing += 1;
      const repaired = repair && !owed && (await ledger.replay(sink, { source, lead: leadId })) > 0;
      onDifference({
        kind: 'missing',
        source,
        leadId,
        why: `Version ${version} was delivered.${repair && !owed && !repaired ? NO_CONTENT : ''}`,
        owed: owed || repaired,
      });
    }
    const last = leads.at(-1);
    if (!last) return { delivered, missing };
    after = last.lead;
  }
}

async function* inChunks(held: AsyncIterable<StoredLead>): AsyncIterable<StoredLead[]> {
  let part: StoredLead[] = [];
  for await (const lead of held) {
    part.push(lead);
    if (part.length < CHUNK) continue;
    yield part;
    part = [];
  }
  if (part.length > 0) yield part;
}
