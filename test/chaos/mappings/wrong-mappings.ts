import type { Spell } from '../deed.ts';
import type { Arrival } from './arrival.ts';
import { parseExactly } from './exact-json.ts';
import { type Form, type Mapped, takes, valuesOf } from './form.ts';
import type { InForce } from './in-force.ts';

/** What is known about a run besides the leads that arrived. Times are by `performance.now()`. */
export interface Known {
  readonly inForce: InForce;
  /**
   * When, by delivery, an attempt began that was lost or failed: from then on the delivery keeps the mapping of that attempt, which may
   * have ended before anything arrived.
   */
  readonly boundMs: ReadonlyMap<string, number>;
  /** The attempts of each delivery that took long. */
  readonly slow: ReadonlyMap<string, readonly Spell[]>;
  /** When a process was frozen. */
  readonly frozen: readonly Spell[];
  /** Returns the texts that a lead has had. */
  textsOf(source: string, lead: string): readonly string[];
}

/**
 * Maximum time from the beginning of an attempt until the lead is sent, in ms: the longest `timeout`, and a margin. If it took longer, the
 * ledger says so.
 */
const ATTEMPT_MS = 4_000;
/** Maximum error of a time of the other side, in ms. */
const CLOCK_MS = 100;

/**
 * Returns the leads that arrived in a form that no mapping could give them then. The mapping has to have been in force when the attempt
 * began; or, if an earlier attempt failed, at any time since the lead was owed.
 */
export function wrongMappings(arrivals: readonly Arrival[], known: Known): string[] {
  return [...arrivals.flatMap((arrival) => wrongArrival(arrival, known) ?? []), ...changedRepeats(arrivals)];
}

function wrongArrival(arrival: Arrival, known: Known): string | undefined {
  const { sink, lead, values, atMs } = arrival;
  const name = nameOf(arrival);
  const [fromMs, why] = beganSince(arrival, known);
  const could = known.inForce.during(sink, fromMs, atMs);
  if (values === undefined) {
    if (could.some(({ plain }) => plain)) return undefined;
    return `${name} arrived as received, and since ${why} only ${numbersOf(could)} was in force`;
  }
  const form = known.inForce.form(values['form']);
  if (form?.sink !== sink) return `${name} has the form ${values['form']}, which ${sink} never had`;
  if (!takes(form, lead)) return `${name} arrived, which mapping ${form.number} leaves out`;
  if (!could.includes(form))
    return `${name} has mapping ${form.number}, and since ${why} only ${numbersOf(could)} was in force`;
  const wrong = wrongValues(arrival, form, known);
  return wrong && `${name} has other values than mapping ${form.number} gives: ${wrong}`;
}

/** Returns since when a mapping may have been chosen for a lead that arrived, and what happened then. */
export function beganSince(
  { delivery, atMs, sentMs, owedMs }: Pick<Arrival, 'delivery' | 'atMs' | 'sentMs' | 'owedMs'>,
  known: Known,
): [fromMs: number, why: string] {
  const boundMs = known.boundMs.get(delivery) ?? Number.POSITIVE_INFINITY;
  if (boundMs <= atMs + CLOCK_MS) return [owedMs - CLOCK_MS, 'it was owed'];
  const slow = known.slow.get(delivery) ?? [];
  const began = slow.filter(({ fromMs, toMs }) => fromMs <= atMs && atMs <= toMs + CLOCK_MS);
  const beganMs = Math.min(attemptBegan(sentMs, known), ...began.map(({ fromMs }) => fromMs - CLOCK_MS));
  return [Math.max(beganMs, owedMs - CLOCK_MS), 'its attempt began'];
}

/** Returns the earliest time at which an attempt can have begun that sent its lead at that time. */
function attemptBegan(atMs: number, { frozen }: Pick<Known, 'frozen'>): number {
  let fromMs = atMs - ATTEMPT_MS;
  for (const spell of frozen.toSorted((a, b) => b.fromMs - a.fromMs))
    if (spell.toMs > fromMs && spell.fromMs < atMs) fromMs -= Math.min(spell.toMs, atMs) - spell.fromMs;
  return fromMs;
}

/** Returns the first value that differs from what the mapping makes of the lead; undefined if none does. */
function wrongValues(arrival: Arrival, form: Form, { textsOf }: Known): string | undefined {
  const { source, lead, values = {}, raw, event = values['event'], delivery, kept } = arrival;
  const differences = (raw === undefined ? textsOf(source, lead) : [raw]).map((text) => {
    const mapped: Mapped = { lead: parseExactly(text) as Mapped['lead'], source, event, delivery };
    return differenceOf(values, { ...kept, ...valuesOf(form, mapped) });
  });
  // A lead has one of its texts, and the account of the run says whether it has the right one.
  return differences.includes(undefined)
    ? undefined
    : (differences.at(-1) ?? 'no text of the lead was listed');
}

function differenceOf(
  found: Readonly<Record<string, unknown>>,
  expected: Readonly<Record<string, unknown>>,
): string | undefined {
  const names = new Set([...Object.keys(found), ...Object.keys(expected)]);
  return [...names].find((name) => !isSame(found[name], expected[name]));
}

/** Whether a value is the expected one. A file has texts, with an apostrophe before one that would be a formula, and none for an empty one. */
function isSame(found: unknown, expected: unknown): boolean {
  if (found === undefined || expected === undefined) return (found ?? '') === (expected ?? '');
  return found === expected || found === String(expected) || found === `'${expected}`;
}

/** Returns the deliveries that arrived in more than one form. */
function changedRepeats(arrivals: readonly Arrival[]): string[] {
  const bound = new Map<string, Arrival>();
  return arrivals.flatMap((arrival) => {
    const { delivery, whole } = arrival;
    const first = bound.get(delivery);
    if (first === undefined) bound.set(delivery, arrival);
    if (first === undefined || first.whole === whole) return [];
    return [`${nameOf(arrival)} arrived again with another content (${delivery})`];
  });
}

function nameOf({ sink, source, lead, atMs }: Arrival): string {
  const at = new Date(performance.timeOrigin + atMs).toISOString().slice(11, 23);
  return `${sink}: ${source}:${lead} at ${at}`;
}

function numbersOf(forms: readonly Form[]): string {
  return forms.map(({ number, plain }) => (plain ? 'as received' : number)).join(', ') || 'none';
}
