import { hash } from 'node:crypto';
import type { Stub } from '../../stub/stub.ts';
import { type Held, keyOf, lastOfEach, type Scene, type SinkName, withoutRepeats } from './scene.ts';

/** What happened, at one sink, to every lead that was served. Each list contains leads as `source:id`. */
export interface SinkAccount {
  /** The number of served leads that the sink holds. */
  readonly delivered: number;
  /** Leads that the sink received more than once under the same `webhook-id`: a receiver can recognise these repeats. */
  readonly repeated: readonly string[];
  /** Leads whose same content the sink holds under more idempotency keys than the service showed it: unrecognisable repeats. */
  readonly twice: readonly string[];
  /** One entry for each replay that the sink holds: a repeat that an operator asked for. */
  readonly replayed: readonly string[];
  /** One entry for each replay that is pending, dead or skipped. */
  readonly notReplayed: readonly string[];
  /** Leads that the sink holds only in an older version, or whose versions arrived in another order than the service showed them. */
  readonly stale: readonly string[];
  /** Leads whose text differs, in any byte, from what was served. */
  readonly altered: readonly string[];
  /** Leads that no listing contained. */
  readonly foreign: readonly string[];
  /** Leads whose newest content the sink does not hold because the ledger gave it up or skipped it; each needs a reason. */
  readonly dead: readonly string[];
  readonly skipped: readonly string[];
  readonly withoutReason: readonly string[];
  /** Leads with a pending delivery. */
  readonly pending: readonly string[];
  /** Leads that were served but are neither at the sink nor pending, dead or skipped. */
  readonly lost: readonly string[];
}

/** The account of a scene: what its services served, what its sinks hold, and what the ledger says about the rest. */
export interface Account {
  readonly served: number;
  readonly sinks: Readonly<Record<SinkName, SinkAccount> & Record<string, SinkAccount>>;
}

interface OwedRow {
  readonly delivery_id: string;
  readonly source: string;
  readonly lead_id: string;
  readonly sink: string;
  readonly state: 'pending' | 'dead' | 'skipped';
  readonly reason: string | null;
}

/** Deviations from the promise that a test has caused and therefore accepts. */
export interface Allowed {
  /** Maximum leads that a webhook may have received twice under the same id; `true`: the test checks the limit itself. */
  readonly repeats: boolean | number;
  /** The leads, by sink, that may be dead or skipped with a reason; none if absent. */
  readonly dead?: Readonly<Record<string, readonly string[]>>;
  readonly skipped?: Readonly<Record<string, readonly string[]>>;
  /** The sinks to check; all if absent. */
  readonly at?: readonly string[];
}

/** What the services have served, and therefore what each sink must hold in the end. */
/** Rows that one `leadsync deliveries` returns, at most. */
const PAGE_ROWS = 100_000;

interface Truth {
  /** The last served version of each lead. */
  readonly newest: ReadonlyMap<string, number>;
  /** Odd leads of a misbehaving service, served among the others; a sink may hold them or not. */
  readonly besides: ReadonlySet<string>;
  text(lead: string, version: number): string | undefined;
  /** The versions of a lead in the order in which the service showed them. */
  history(lead: string): readonly number[];
}

/**
 * Takes the account from outside: from the stubs' records, the sinks' contents and the `deliveries` command.
 * @param more.raw the raw elements of the first stub that are ordinary leads and were shown all the time
 */
export async function accountOf(scene: Scene, more: { raw?: readonly string[] } = {}): Promise<Account> {
  const truth = truthOf(scene.services, more.raw ?? []);
  // Read what is owed first: a lead that is delivered between the two reads is then in both results, never in neither.
  const owed = await undelivered(scene);
  const held = await scene.held();
  const accounts = Object.entries(held).map(([sink, there]) => [
    sink,
    sinkAccount(
      truth,
      there,
      owed.filter((row) => row.sink === sink),
    ),
  ]);
  return { served: truth.newest.size, sinks: Object.fromEntries(accounts) };
}

/** Returns the broken promises in the account of a healed, idle scene. The promise: every lead arrives once, in its newest version. */
export function faultsOf({ sinks }: Account, allowed: Allowed): string[] {
  return Object.entries(sinks).flatMap(([sink, account]) => {
    if (allowed.at && !allowed.at.includes(sink)) return [];
    const wrong = ['lost', 'pending', 'twice', 'stale', 'altered', 'foreign', 'withoutReason'] as const;
    // Files and rows recognise a repeat themselves, so these sinks allow none.
    const recognised = sink === 'drop' || sink === 'warehouse';
    const found = Object.entries({
      ...Object.fromEntries(wrong.map((fault) => [fault, account[fault]])),
      dead: account.dead.filter((lead) => !allowed.dead?.[sink]?.includes(lead)),
      skipped: account.skipped.filter((lead) => !allowed.skipped?.[sink]?.includes(lead)),
      repeated: account.repeated.length <= (recognised ? 0 : mostRepeats(allowed)) ? [] : account.repeated,
    });
    return found
      .filter(([, leads]) => leads.length > 0)
      .map(([fault, leads]) => `${sink}: ${leads.length} ${fault} (${leads.slice(0, 5).join(', ')})`);
  });
}

function mostRepeats({ repeats }: Allowed): number {
  return repeats === true ? Number.POSITIVE_INFINITY : Number(repeats);
}

/**
 * Maximum leads that may reach a webhook twice when its process is killed `kills` times: those being attempted, and those whose settling
 * was in a commit that never completed.
 */
export function repeatsOfKills(kills: number, concurrency = 10): number {
  return kills * 2 * concurrency;
}

function truthOf(services: Readonly<Record<string, Stub>>, raw: readonly string[]): Truth {
  const generated = Object.entries(services).flatMap(([source, { served }]) =>
    served.ids().map((id) => {
      const version = served.newest(id) ?? 1;
      return [`${source}:${id}`, { served, id, version }] as const;
    }),
  );
  const newest = new Map<string, (typeof generated)[number][1]>(generated);
  const texts = rawTexts(services);
  return {
    newest: new Map([
      ...generated.map(([lead, { version }]) => [lead, version] as const),
      ...raw.map((text) => [`main:${idIn(text)}`, 1] as const),
    ]),
    besides: new Set(texts.keys()),
    text: (lead, version) => {
      const { served, id } = newest.get(lead) ?? {};
      return texts.get(lead) ?? (id === undefined ? undefined : served?.text(id, version));
    },
    history: (lead) => {
      const { served, id } = newest.get(lead) ?? {};
      return (id !== undefined && served?.history(id)) || [1];
    },
  };
}

/** Returns the keys of the odd leads of misbehaving services, which were served among the others; a sink may hold them or not. */
export function servedBesides({ services }: Pick<Scene, 'services'>): ReadonlySet<string> {
  return new Set(rawTexts(services).keys());
}

/** Returns the served elements that are not generated leads, by key. White space around an element belongs to the listing, not to the lead. */
function rawTexts(services: Readonly<Record<string, Stub>>): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(services).flatMap(([source, { served }]) =>
      served.raw().map((text) => [`${source}:${idIn(text)}`, text.trim()] as const),
    ),
  );
}

function idIn(text: string): string {
  return /"id"\s*:\s*(\d+)/.exec(text)?.[1] ?? '';
}

/** Returns every delivery that is pending, dead or skipped, page by page: a long run with a `where` skips more than one page has room for. */
async function undelivered(scene: Scene): Promise<readonly OwedRow[]> {
  const states = ['pending', 'dead', 'skipped'];
  const rows: OwedRow[] = [];
  for (let isLast = false; !isLast; ) {
    const last = rows.at(-1);
    const after = last === undefined ? [] : ['--before', last.delivery_id];
    const answer = await scene.run(
      ...['deliveries', '--json', '--limit', String(PAGE_ROWS), ...after],
      ...['--state', ...states],
    );
    if (answer.code !== 0) throw new Error(`leadsync deliveries ended with ${answer.code}: ${answer.stderr}`);
    const { deliveries, more } = JSON.parse(answer.stdout) as { deliveries: OwedRow[]; more: boolean };
    rows.push(...deliveries);
    isLast = !more;
  }
  return rows;
}

function sinkAccount(truth: Truth, held: readonly Held[], owed: readonly OwedRow[]): SinkAccount {
  const seen = withoutRepeats(held);
  const last = lastOfEach(held);
  const missing = [...truth.newest.keys()].filter((lead) => last.get(lead) !== truth.newest.get(lead));
  const isMissing = new Set(missing);
  const named = new Set(owed.map((row) => contentOf(row.delivery_id)));
  const leadsIn = (state: OwedRow['state']) => owed.filter((row) => row.state === state).map(leadOf);
  const missingIn = (state: OwedRow['state']) => leadsIn(state).filter((lead) => isMissing.has(lead));
  const unaccounted = missing.filter((lead) => !named.has(newestOf(truth, lead)));
  return {
    delivered: [...truth.newest.keys()].filter((lead) => last.has(lead)).length,
    repeated: repeatsOf(held, (one) => `${keyOf(one)} ${one.under}`),
    twice: tooOften(seen, truth),
    replayed: seen.filter(({ under }) => replayIn(under) !== '').map(keyOf),
    notReplayed: owed.filter((row) => replayIn(row.delivery_id) !== '').map(leadOf),
    stale: [...new Set([...unaccounted.filter((lead) => last.has(lead)), ...outOfOrder(seen, truth)])],
    altered: seen.filter((one) => isAltered(one, truth)).map(keyOf),
    foreign: [...last.keys()].filter((lead) => !truth.newest.has(lead) && !truth.besides.has(lead)),
    dead: missingIn('dead'),
    skipped: missingIn('skipped'),
    withoutReason: owed.filter((row) => row.state !== 'pending' && !row.reason).map(leadOf),
    pending: leadsIn('pending'),
    lost: unaccounted.filter((lead) => !last.has(lead)),
  };
}

/** Returns the leads of which a version arrived after one that was shown later. */
function outOfOrder(seen: readonly Held[], truth: Truth): string[] {
  const places = new Map<string, number>();
  return seen.flatMap((one) => {
    const lead = keyOf(one);
    const place = truth.history(lead).indexOf(one.version, places.get(lead));
    if (place === -1) return truth.newest.has(lead) ? [lead] : [];
    places.set(lead, place);
    return [];
  });
}

/** Returns the leads whose same content arrived under more idempotency keys than it was shown times, or than replays were requested. */
function tooOften(seen: readonly Held[], truth: Truth): string[] {
  const counts = Map.groupBy(seen, (one) => `${keyOf(one)} ${one.version} ${replayIn(one.under)}`);
  const leads = [...counts.values()].flatMap((same) => {
    const [one] = same;
    if (!one) return [];
    const shown = truth.history(keyOf(one)).filter((version) => version === one.version).length;
    const most = replayIn(one.under) === '' ? Math.max(1, shown) : 1;
    return same.length > most ? [keyOf(one)] : [];
  });
  return [...new Set(leads)];
}

function isAltered(one: Held, truth: Truth): boolean {
  const text = truth.text(keyOf(one), one.version);
  return one.raw !== undefined && text !== undefined && one.raw !== text;
}

/** Returns the lead and the content hash of a delivery, from its id `sink:source:lead:version:hash`. */
function contentOf(delivery: string): string {
  const [, source, lead, , contentHash] = delivery.split(':');
  return `${source}:${lead} ${contentHash}`;
}

/** Returns the newest content of a lead in the same form. */
function newestOf(truth: Truth, lead: string): string {
  const text = truth.text(lead, truth.newest.get(lead) ?? 1) ?? '';
  return `${lead} ${hash('sha256', text).slice(0, 8)}`;
}

/** Returns the part `r…` that marks a delivery id as a replay, also if another mapping changed the id since; empty if it is not a replay. */
function replayIn(under: string): string {
  return /:(r\d+)(?::m\d+)?$/.exec(under)?.[1] ?? '';
}

/** Returns the leads whose key occurs more than once. */
function repeatsOf(held: readonly Held[], by: (one: Held) => string): string[] {
  const met = new Set<string>();
  const repeated = held.filter((one) => met.size === met.add(by(one)).size);
  return [...new Set(repeated.map(keyOf))];
}

function leadOf(row: OwedRow): string {
  return `${row.source}:${row.lead_id}`;
}
