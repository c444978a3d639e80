import type { Config, SinkConfig } from '../config/config.ts';
import type { Erased, LeadKey, Person, Subject } from '../leads/person.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Clock } from '../platform/clock.ts';
import { type Sink, SinkUnavailable } from '../sinks/sink.ts';
import { openSink } from './open-sinks.ts';

/** How long is waited for attempts that are under way, and for readers of the ledger, in ms. */
const PATIENCE_MS = 60_000;
const LOOK_AGAIN_MS = 200;

/** What became of a person at one place. */
export interface Reached {
  /** `ledger`, or the sink's name. */
  readonly place: string;
  readonly type: string;
  /** Nothing of the person is left there, as far as leadsync put it there. */
  readonly reached: boolean;
  /** It could not be reached now, and a later erasure goes on with it. */
  readonly again: boolean;
  readonly what: string;
  /** The files that still hold the person, for somebody to remove. */
  readonly files?: readonly string[];
}

/** What an erasure came to. Names no person: leads by their ids. */
export interface Certificate {
  readonly at: Date;
  readonly leads: readonly LeadKey[];
  /** Elements of listings that were set aside. */
  readonly rejected: number;
  readonly erased: Omit<Erased, 'underWay'>;
  readonly places: readonly Reached[];
}

export interface EraseParts {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Whom an erasure takes: whoever is meant, and whatever an earlier one that was cut off, or did not reach every place, has left. */
export async function personToErase(
  ledger: Ledger,
  subject: Subject | undefined,
  source: string | undefined,
): Promise<Person> {
  const found = subject ? await ledger.findPerson(subject, source) : { leads: [], rejected: [] };
  const left = await ledger.unfinishedErasures();
  const named = new Map(
    [...left, ...found.leads].map(({ source, leadId }) => [`${source} ${leadId}`, { source, leadId }]),
  );
  return { leads: [...named.values()], rejected: found.rejected };
}

/**
 * Erases a person: first from the ledger, so that nobody sends anything any more, then from the sinks. What could not be reached stays
 * noted in the ledger until a later erasure reaches it.
 */
export async function erase(
  { sinks }: Pick<Config, 'sinks'>,
  person: Person,
  parts: EraseParts,
): Promise<Certificate> {
  const { ledger, clock } = parts;
  const { underWay, ...erased } = await eraseFromLedger(person, parts);
  const places: Reached[] = [];
  for (const sink of sinks) places.push(await eraseFromSink(sink, person, parts));
  const scrubbed = await untilTrue(() => ledger.scrub(), parts);
  const ledgerPlace = { place: 'ledger', type: 'ledger', ...ledgerSays(underWay, scrubbed) };
  const all = [ledgerPlace, ...places];
  if (!all.some(({ again }) => again)) await ledger.finishErasing(person.leads);
  return { at: clock.now(), leads: person.leads, rejected: person.rejected.length, erased, places: all };
}

function ledgerSays(underWay: number, scrubbed: boolean): Pick<Reached, 'reached' | 'again' | 'what'> {
  if (underWay > 0)
    return {
      reached: false,
      again: true,
      what: `${underWay} deliveries are still being attempted. Run this again when they have ended.`,
    };
  if (!scrubbed)
    return {
      reached: false,
      again: true,
      what: 'Erased, but a query that is still open keeps the content in the log beside the file. Run this again when it has ended.',
    };
  return {
    reached: true,
    again: false,
    what: 'Erased and overwritten; the ids are kept, so that no poll brings them back.',
  };
}

/** Again and again, until nothing of the person is under way: an attempt that ends may leave an answer, or a delivery to be retried. */
async function eraseFromLedger(person: Person, parts: EraseParts): Promise<Erased> {
  let sum: Erased = { versions: 0, rejected: 0, attempts: 0, skipped: 0, underWay: 0 };
  await untilTrue(async () => {
    const part = await parts.ledger.erase(person);
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

async function untilTrue(done: () => Promise<boolean>, { clock, signal }: EraseParts): Promise<boolean> {
  const startMs = clock.monotonicMs();
  while (!(await done())) {
    if (signal.aborted || clock.monotonicMs() - startMs > PATIENCE_MS) return false;
    await clock.sleep(LOOK_AGAIN_MS, signal);
  }
  return true;
}

async function eraseFromSink(config: SinkConfig, person: Person, parts: EraseParts): Promise<Reached> {
  const sink = openSink(config, parts.clock);
  const place = { place: config.name, type: config.type.type };
  try {
    return { ...place, ...(await eraseAt(sink, person, parts)) };
  } catch (error) {
    if (!(error instanceof SinkUnavailable)) throw error;
    return {
      ...place,
      reached: false,
      again: true,
      what: [error.message, error.hint].filter(Boolean).join(' '),
    };
  } finally {
    await sink.close();
  }
}

async function eraseAt(
  sink: Sink,
  person: Person,
  { ledger, signal }: EraseParts,
): Promise<Pick<Reached, 'reached' | 'again' | 'what' | 'files'>> {
  if (sink.erase) {
    const rows = await sink.erase({ ...person, ledger: ledger.id }, signal);
    return { reached: true, again: false, what: `${rows} rows were removed or emptied.` };
  }
  if (!sink.holds)
    return {
      reached: false,
      again: false,
      what: 'leadsync cannot take back what it sent there. Ask whoever runs it to erase these leads, by their ids.',
    };
  const files = await filesWith(sink.holds(signal), person.leads);
  if (files.length === 0)
    return { reached: true, again: false, what: 'None of its files holds these leads.' };
  return {
    reached: false,
    again: false,
    what: 'Its files are left as they are; these hold the leads.',
    files,
  };
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
