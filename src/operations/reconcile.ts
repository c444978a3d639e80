import type { LeadAtSink } from '../leads/lead-at-sink.ts';
import type { LedgerControl } from '../ledger/contract/ledger-control.ts';
import type { LedgerQueries } from '../ledger/contract/ledger-queries.ts';
import { IdSet } from '../ledger/recording/id-set.ts';
import type { Clock } from '../platform/time/clock.ts';
import type { StoredLead } from '../sinks/sink.ts';

/** Maximum number of leads per ledger query. */
const CHUNK = 500;
/** A delivery whose time is further in the future than this, in ms, was made before the clock was set back, and not during the comparison. */
const AHEAD_MS = 60_000;

/** A lead that the ledger and the sink disagree about. */
export interface Difference {
  /**
   * `missing`: delivered, but the sink does not hold it. `foreign`: the sink holds it, but not from a delivery of this ledger. `duplicate`: the
   * sink holds it more than once.
   */
  readonly kind: 'missing' | 'foreign' | 'duplicate';
  readonly source: string;
  readonly leadId: bigint;
  readonly why: string;
  /** The file that contains a foreign lead, for sinks that write files. */
  readonly file?: string | undefined;
  /** Whether the lead is owed, either already or because of this repair. */
  readonly owed: boolean;
}

/** Result of a comparison, in numbers. */
export interface ReconcileResult {
  /** Leads that were delivered according to the ledger. */
  readonly delivered: number;
  /** Leads, or rows in files, that the sink holds. */
  readonly held: number;
  readonly missing: number;
  readonly foreign: number;
  /** Leads that the sink holds more than once. Always 0 for files, in which each row is a delivery. */
  readonly duplicates: number;
}

/**
 * What `reconcile` works with. `repair`: whether to owe missing leads again. `confirmRepair` gets the number of leads to owe, and prevents the repair
 * if it throws. `onDifference` receives the foreign leads and the duplicates first, then the missing.
 */
export interface ReconcileParts {
  readonly sink: string;
  readonly ledger: LedgerQueries & LedgerControl;
  readonly clock: Clock;
  readonly repair: boolean;
  readonly confirmRepair?: (leads: number) => Promise<void>;
  readonly onDifference: (difference: Difference) => void;
}

/**
 * Compares the leads delivered to a sink, according to the ledger, with the leads that the sink holds. With `repair`, owes missing leads
 * again. Keeps two bits per lead in memory. Ignores deliveries made during the comparison.
 * @throws SinkUnavailable, LedgerError
 */
export async function reconcile(
  held: AsyncIterable<StoredLead>,
  parts: ReconcileParts,
): Promise<ReconcileResult> {
  const from = parts.clock.now();
  const present = new IdSet();
  const { rows, foreign, duplicates } = await readHeld(held, present, parts);
  if (parts.repair && parts.confirmRepair) await confirm(present, from, parts, parts.confirmRepair);
  const { delivered, missing } = await findMissing(present, from, parts);
  return { delivered, held: rows, missing, foreign, duplicates };
}

/** Counts the missing leads, and asks whether to owe them again. */
async function confirm(
  present: IdSet,
  from: Date,
  parts: ReconcileParts,
  ask: (leads: number) => Promise<void>,
): Promise<void> {
  let leads = 0;
  const onDifference = ({ owed }: Difference) => {
    if (!owed) leads += 1;
  };
  await findMissing(present, from, { ...parts, repair: false, onDifference });
  if (leads > 0) await ask(leads);
}

const HELD_TWICE = 'The sink holds it more than once. Delete or merge the duplicates at the destination.';

async function readHeld(
  held: AsyncIterable<StoredLead>,
  present: IdSet,
  { sink, ledger, onDifference }: ReconcileParts,
): Promise<{ rows: number; foreign: number; duplicates: number }> {
  const duplicates = new IdSet();
  let [rows, foreign] = [0, 0];
  for await (const part of inChunks(held)) {
    const states = await ledger.leadsAtSink(sink, part);
    for (const [at, { source, leadId, version, file }] of part.entries()) {
      const state = states[at] as LeadAtSink;
      rows += 1;
      const isCurrent = version === undefined || version >= (state.delivered ?? 0);
      const isAgain = state.lead !== undefined && isCurrent && !present.add(state.lead);
      if (isAgain && file === undefined && duplicates.add(state.lead))
        onDifference({ kind: 'duplicate', source, leadId, why: HELD_TWICE, owed: state.owed });
      const why = whyForeign(state);
      if (why === undefined) continue;
      foreign += 1;
      onDifference({ kind: 'foreign', source, leadId, why, file, owed: state.owed });
    }
  }
  return { rows, foreign, duplicates: duplicates.size };
}

/** Returns why a lead is foreign, as a sentence; undefined if it is not. An owed lead is not, because it may have arrived without acknowledgement. */
function whyForeign({ lead, erased, delivered, owed }: LeadAtSink): string | undefined {
  if (lead === undefined) return 'The ledger does not know it.';
  if (erased) return 'It was erased.';
  return delivered === undefined && !owed ? 'The ledger never delivered it there.' : undefined;
}

/** Appended to the reason for a missing lead that a repair cannot owe again. */
const NO_CONTENT = ' The ledger no longer has its content, so it cannot be delivered again.';

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
