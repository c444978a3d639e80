import type { Config, SinkConfig } from '../../config/contract/config.ts';
import type {
  ErasureCounts,
  LeadKey,
  Person,
  RejectedKey,
  SinkErasure,
  Subject,
} from '../../leads/person.ts';
import type { LedgerDelivering } from '../../ledger/contract/ledger-delivering.ts';
import type { LedgerPersons } from '../../ledger/contract/ledger-persons.ts';
import type { LedgerUpkeep, Scrubbed } from '../../ledger/contract/ledger-upkeep.ts';
import { reach } from '../../platform/process/failpoint.ts';
import { countOf } from '../../platform/text/human-readable.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Sink } from '../../sinks/sink.ts';
import { SinkUnavailable } from '../../sinks/sink-unavailable.ts';
import { isDataDirInUse } from '../opening/open-ledger.ts';
import { openSink } from '../opening/open-sinks.ts';
import { processesOf } from '../opening/processes.ts';
import { reclaimLeases } from '../opening/reclaim-leases.ts';
import type { Certificate, PlaceReport } from './certificate.ts';
import { recordErasures } from './erasure-journal.ts';
import {
  destinationReport,
  folderReport,
  formerDestinationsReport,
  ledgerReport,
  recordsReport,
  removedSinksReport,
  sinksWithErasedEvents,
} from './erasure-report.ts';
import { type SearchParts, searchExports } from './search-exports.ts';

/** Maximum wait for attempts in progress, and for readers of the ledger, in ms. */
const PATIENCE_MS = 60_000;
/** Maximum wait for a running leadsync to deliver `lead.erased`, in ms. */
const NOTIFY_MS = 5_000;
const RETRY_MS = 200;
/**
 * Hint for a destination that could not be searched. The ledger does not store the email address or phone number, so a later erasure cannot
 * repeat the search.
 */
const REPEAT_HINT =
  'Then erase by the email address or phone number again: only this destination can find leads whose content the ledger no longer has.';

const NO_LEADS: Person = { leads: [], rejected: [] };

/** What an erasure works with. The signal ends every wait; the ledger records unfinished work for a later erasure. */
export interface EraseParts {
  readonly ledger: LedgerPersons & LedgerUpkeep & LedgerDelivering;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** The leads to erase, and the names of the sinks that could not be searched for the person. */
export interface PersonToErase extends Person {
  readonly unasked: readonly string[];
}

/**
 * Returns the leads to erase: those of the person, and those that an earlier erasure did not finish. Also searches the sinks that can be
 * searched, because they may hold leads whose content the ledger no longer has.
 */
export async function personToErase(
  sinks: readonly SinkConfig[],
  subject: Subject | undefined,
  source: string | undefined,
  parts: EraseParts,
): Promise<PersonToErase> {
  const { ledger } = parts;
  const found = subject ? await ledger.findPerson(subject, source) : NO_LEADS;
  const { held, unasked } =
    subject && subject.kind !== 'lead'
      ? await askSinks(sinks, subject, parts)
      : { held: [NO_LEADS], unasked: [] };
  const left = await ledger.unfinishedErasures();
  const isMeant = (one: LeadKey | RejectedKey) => source === undefined || one.source === source;
  const meant = held.flatMap(({ leads }) => leads).filter(isMeant);
  const setAside = [...found.rejected, ...held.flatMap(({ rejected }) => rejected).filter(isMeant)];
  const named = new Map(
    [...left, ...found.leads, ...meant].map(({ source, leadId }) => [
      `${source} ${leadId}`,
      { source, leadId },
    ]),
  );
  const rejected = new Map(setAside.map((one) => [`${one.source} ${one.hash}`, one]));
  return { leads: [...named.values()], rejected: [...rejected.values()], unasked };
}

async function askSinks(
  sinks: readonly SinkConfig[],
  subject: Subject,
  { clock, signal }: EraseParts,
): Promise<{ held: readonly Person[]; unasked: readonly string[] }> {
  const [held, unasked]: [Person[], string[]] = [[], []];
  for (const config of sinks) {
    const sink = await openSink(config, clock);
    try {
      held.push((await sink.findPerson?.(subject, signal)) ?? NO_LEADS);
    } catch (error) {
      if (!(error instanceof SinkUnavailable)) throw error;
      unasked.push(config.name);
    } finally {
      await sink.close();
    }
  }
  return { held, unasked };
}

/**
 * Erases a person: first from the ledger, so that leadsync sends nothing more, then from the sinks. The ledger keeps a record of places
 * that could not be reached until a later erasure reaches them.
 */
export async function erase(
  { sinks, exports, backups, dataDir }: Pick<Config, 'sinks' | 'exports' | 'backups' | 'dataDir'>,
  person: Person,
  parts: EraseParts & Pick<SearchParts, 'states'>,
): Promise<Certificate> {
  const { ledger, clock } = parts;
  await reclaimLeases(ledger, processesOf(dataDir)); // an attempt whose process was killed must not delay the erasure
  await recordErasures(dataDir, person.leads);
  const { underWay, ...erased } = await eraseFromLedger(person, sinksWithErasedEvents(sinks), parts);
  reach('erased');
  const reached: (PlaceReport | undefined)[] = [];
  for (const sink of sinks) reached.push(await eraseFromSink(sink, person, parts));
  const exported = await searchExports({ exports, backups }, person, parts);
  let scrubbed: Scrubbed = false;
  await waitUntil(async () => {
    scrubbed = await ledger.scrub();
    return scrubbed !== false;
  }, parts);
  reach('scrubbed');
  const told = await waitForNotices(person, isDataDirInUse(dataDir) ? NOTIFY_MS : 0, parts);
  const places = sinks.map(
    (sink, at) => reached[at] ?? { ...placeOf(sink), ...destinationReport(sink, told) },
  );
  const ledgerPlace = { place: 'ledger', type: 'ledger', ...ledgerReport(underWay, scrubbed) };
  const left = formerDestinationsReport(await ledger.formerDestinations(person.leads));
  const all = [ledgerPlace, ...places, ...left, ...removedSinksReport(sinks, told), ...exported];
  if (!all.some(({ again }) => again)) await ledger.finishErasing(person.leads);
  return { at: clock.now(), leads: person.leads, rejected: person.rejected.length, erased, places: all };
}

/**
 * Erases repeatedly until none of the person's deliveries is being attempted or the wait ends, because an attempt that ends may record an
 * answer or a retry.
 */
async function eraseFromLedger(
  person: Person,
  tell: readonly string[],
  parts: EraseParts,
): Promise<ErasureCounts> {
  let sum: ErasureCounts = { versions: 0, rejected: 0, attempts: 0, skipped: 0, underWay: 0 };
  await waitUntil(async () => {
    const part = await parts.ledger.erase(person, tell);
    sum = {
      versions: sum.versions + part.versions,
      rejected: sum.rejected + part.rejected,
      attempts: sum.attempts + part.attempts,
      skipped: sum.skipped + part.skipped,
      underWay: part.underWay,
    };
    return part.underWay === 0;
  }, parts);
  return sum;
}

/**
 * Waits until no `lead.erased` delivery is owed any longer, or until `withinMs` has passed. Returns the state of these deliveries for each
 * sink.
 */
async function waitForNotices(
  { leads }: Person,
  withinMs: number,
  parts: EraseParts,
): Promise<readonly SinkErasure[]> {
  let told: readonly SinkErasure[] = [];
  const isTold = async () => {
    told = await parts.ledger.sinkErasures(leads);
    return told.every(({ owed }) => owed === 0);
  };
  await waitUntil(isTold, parts, withinMs);
  return told;
}

async function waitUntil(
  done: () => Promise<boolean>,
  { clock, signal }: EraseParts,
  withinMs = PATIENCE_MS,
): Promise<boolean> {
  const startMs = clock.monotonicMs();
  while (!(await done())) {
    if (signal.aborted || clock.monotonicMs() - startMs >= withinMs) return false;
    await clock.sleep(RETRY_MS, signal);
  }
  return true;
}

/**
 * Erases at one sink. Returns undefined if the sink can neither delete nor list leads; its destination can then at most be notified with
 * `lead.erased`.
 */
async function eraseFromSink(
  config: SinkConfig,
  person: Person,
  parts: EraseParts,
): Promise<PlaceReport | undefined> {
  const sink = await openSink(config, parts.clock);
  try {
    const reached = await eraseAt(sink, config, person, parts);
    return reached && { ...placeOf(config), ...reached };
  } catch (error) {
    if (!(error instanceof SinkUnavailable)) throw error;
    return {
      ...placeOf(config),
      reached: false,
      again: true,
      what: [error.message, error.hint, sink.findPerson && REPEAT_HINT].filter(Boolean).join(' '),
    };
  } finally {
    await sink.close();
  }
}

function placeOf({ name, type }: SinkConfig): Pick<PlaceReport, 'place' | 'type'> {
  return { place: name, type: type.type };
}

async function eraseAt(
  sink: Sink,
  config: SinkConfig,
  person: Person,
  { ledger, signal }: EraseParts,
): Promise<Pick<PlaceReport, 'reached' | 'again' | 'what' | 'files' | 'kept'> | undefined> {
  if (sink.erase) {
    const erased = await sink.erase(person, signal);
    return typeof erased === 'number'
      ? { reached: true, again: false, what: erasedRows(erased) }
      : recordsReport(erased);
  }
  if (!sink.storedLeads) return undefined;
  const files = await filesWith(sink.storedLeads(signal), person.leads);
  if (files.length === 0)
    return {
      reached: true,
      again: false,
      what: folderReport(config, await ledger.sinkErasures(person.leads)),
    };
  return {
    reached: false,
    again: false,
    what: 'Its files are left as they are; these contain the leads.',
    files,
  };
}

/**
 * Returns a sentence that says how many rows were removed. The number may be 0, because a running leadsync also erases leads from its
 * mirror and may have done so first.
 */
function erasedRows(rows: number): string {
  const how = rows === 0 ? 'nothing was left to remove' : `${countOf(rows, 'record')} removed or emptied`;
  return `It no longer contains these leads (${how}).`;
}

async function filesWith(
  held: AsyncIterable<{ source: string; leadId: bigint; file?: string }>,
  leads: readonly LeadKey[],
): Promise<string[]> {
  const wanted = new Set(leads.map(({ source, leadId }) => `${source} ${leadId}`));
  const files = new Set<string>();
  for await (const { source, leadId, file } of held)
    if (file !== undefined && wanted.has(`${source} ${leadId}`)) files.add(file);
  return [...files];
}
