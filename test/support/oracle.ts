import { hash } from 'node:crypto';
import type { Stub } from '../stub/stub.ts';
import type { Held, Scene, SinkName } from './scene.ts';

/** What became, at one sink, of every lead that was served. Lists are of lead ids. */
export interface SinkAccount {
  /** Leads that the sink holds, of those that were served. */
  readonly delivered: number;
  /** Leads that the sink was given more than once under the same `webhook-id`: what a receiver can recognise. */
  readonly repeated: readonly string[];
  /** Leads whose same content the sink holds more than once under different names: what a receiver cannot recognise. */
  readonly twice: readonly string[];
  /** An entry for each replay that the sink holds: a repeat that somebody asked for. */
  readonly replayed: readonly string[];
  /** And for each that is owed or was given up. */
  readonly notReplayed: readonly string[];
  /** Leads that the sink has only in an older version, or in an older one after a newer one. */
  readonly stale: readonly string[];
  /** Leads whose text is not, byte for byte, what was served. */
  readonly altered: readonly string[];
  /** Leads that no listing had. */
  readonly foreign: readonly string[];
  /** Leads whose newest content the sink does not hold, because the ledger gave up or skipped it; each must have a reason. */
  readonly dead: readonly string[];
  readonly skipped: readonly string[];
  readonly withoutReason: readonly string[];
  /** Leads that are still owed. */
  readonly pending: readonly string[];
  /** Leads that were served, are not at the sink, and are neither owed, nor dead, nor skipped. */
  readonly lost: readonly string[];
}

/** The account of a scene: what its service served against what its sinks hold, and what the ledger says of the rest. */
export interface Account {
  readonly served: number;
  readonly sinks: Readonly<Record<SinkName, SinkAccount> & Record<string, SinkAccount>>;
}

interface OwedRow {
  readonly delivery_id: string;
  readonly lead_id: string;
  readonly sink: string;
  readonly state: 'pending' | 'dead' | 'skipped';
  readonly reason: string | null;
}

/** What the service has served, as a sink should come to hold it. */
interface Truth {
  /** Of each lead the newest version that was served. */
  readonly newest: ReadonlyMap<string, number>;
  /** Leads that were served among others, and that a sink may hold or not: the odd ones of a misbehaving service. */
  readonly besides: ReadonlySet<string>;
  text(lead: string, version: number): string | undefined;
}

/**
 * Takes the account from outside: the stub's record, the sinks' own contents, and the `deliveries` command. `raw` are
 * those of the stub's raw elements that are leads like any other, and were shown all the time; `services` are all that
 * the scene's sinks got leads from, where it is not its first alone.
 */
export async function accountOf(
  scene: Scene,
  more: { raw?: readonly string[]; services?: readonly Stub[] } = {},
): Promise<Account> {
  const truth = truthOf(more.services ?? [scene.stub], more.raw ?? []);
  // What is owed first: what is delivered between the two is then on both sides, and not on neither.
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

/**
 * The account of a scene that is healed and at rest, as the one promise has it: everything is delivered, dead or skipped
 * with a reason, in its newest version, and only the webhooks' repeats are allowed, where `repeats` says so.
 * `at` names the sinks that are looked at; all when absent.
 */
export function faultsOf(
  { sinks }: Account,
  allowed: { repeats: boolean; at?: readonly string[] },
): string[] {
  return Object.entries(sinks).flatMap(([sink, account]) => {
    if (allowed.at && !allowed.at.includes(sink)) return [];
    const wrong = ['lost', 'pending', 'twice', 'stale', 'altered', 'foreign', 'withoutReason'] as const;
    // Files and rows recognise a repeat by themselves, so there is none at all.
    const recognised = sink === 'drop' || sink === 'warehouse';
    const faults = allowed.repeats && !recognised ? wrong : ([...wrong, 'repeated'] as const);
    return faults
      .filter((fault) => account[fault].length > 0)
      .map(
        (fault) => `${sink}: ${account[fault].length} ${fault} (${account[fault].slice(0, 5).join(', ')})`,
      );
  });
}

function truthOf(services: readonly Stub[], raw: readonly string[]): Truth {
  const generated = services.flatMap(({ served }) =>
    served.ids().map((id) => [String(id), { served, version: served.versions(id).at(-1) ?? 1 }] as const),
  );
  const newest = new Map(generated);
  // What stands around an element is the listing's, and not the lead's.
  const texts = new Map(
    services.flatMap(({ served }) => served.raw()).map((text) => [idIn(text), text.trim()]),
  );
  return {
    newest: new Map([
      ...generated.map(([lead, { version }]) => [lead, version] as const),
      ...raw.map((text) => [idIn(text), 1] as const),
    ]),
    besides: new Set(texts.keys()),
    text: (lead, version) => texts.get(lead) ?? newest.get(lead)?.served.text(Number(lead), version),
  };
}

function idIn(text: string): string {
  return /"id"\s*:\s*(\d+)/.exec(text)?.[1] ?? '';
}

async function undelivered(scene: Scene): Promise<readonly OwedRow[]> {
  const states = ['pending', 'dead', 'skipped'];
  const answer = await scene.run('deliveries', '--json', '--limit', '100000', '--state', ...states);
  if (answer.code !== 0) throw new Error(`leadsync deliveries ended with ${answer.code}: ${answer.stderr}`);
  const { deliveries, more } = JSON.parse(answer.stdout) as { deliveries: OwedRow[]; more: boolean };
  if (more) throw new Error('more than 100,000 deliveries are not delivered');
  return deliveries;
}

function sinkAccount(truth: Truth, held: readonly Held[], owed: readonly OwedRow[]): SinkAccount {
  const seen = firstOfEach(held, (one) => `${one.lead} ${one.under}`);
  const last = new Map(seen.map(({ lead, version }) => [lead, version]));
  const missing = [...truth.newest.keys()].filter((lead) => last.get(lead) !== truth.newest.get(lead));
  const isMissing = new Set(missing);
  const named = new Set(owed.map((row) => contentOf(row.delivery_id)));
  const leadsIn = (state: OwedRow['state']) => owed.filter((row) => row.state === state).map(leadOf);
  const missingIn = (state: OwedRow['state']) => leadsIn(state).filter((lead) => isMissing.has(lead));
  const unaccounted = missing.filter((lead) => !named.has(newestOf(truth, lead)));
  return {
    delivered: [...truth.newest.keys()].filter((lead) => last.has(lead)).length,
    repeated: repeatsOf(held, ({ lead, under }) => `${lead} ${under}`),
    twice: repeatsOf(seen, ({ lead, version, under }) => `${lead} ${version} ${replayIn(under)}`),
    replayed: seen.filter(({ under }) => replayIn(under) !== '').map(({ lead }) => lead),
    notReplayed: owed.filter((row) => replayIn(row.delivery_id) !== '').map(leadOf),
    stale: [...new Set([...unaccounted.filter((lead) => last.has(lead)), ...outOfOrder(seen)])],
    altered: seen.filter((one) => isAltered(one, truth)).map(({ lead }) => lead),
    foreign: [...last.keys()].filter((lead) => !truth.newest.has(lead) && !truth.besides.has(lead)),
    dead: missingIn('dead'),
    skipped: missingIn('skipped'),
    withoutReason: owed.filter((row) => row.state !== 'pending' && !row.reason).map(leadOf),
    pending: leadsIn('pending'),
    lost: unaccounted.filter((lead) => !last.has(lead)),
  };
}

/** Leads of which an older version came after a newer one, to whoever leaves out what came under the same name before. */
function outOfOrder(seen: readonly Held[]): string[] {
  const newest = new Map<string, number>();
  return seen.flatMap(({ lead, version }) => {
    const before = newest.get(lead) ?? 0;
    newest.set(lead, Math.max(before, version));
    return version < before ? [lead] : [];
  });
}

function isAltered({ lead, version, raw }: Held, truth: Truth): boolean {
  const text = truth.text(lead, version);
  return raw !== undefined && text !== undefined && raw !== text;
}

/** Which content a delivery is of, by its name `sink:source:lead:version:hash`: the lead and the hash. */
function contentOf(delivery: string): string {
  const [, , lead, , contentHash] = delivery.split(':');
  return `${lead} ${contentHash}`;
}

/** The newest content of a lead in the same form. */
function newestOf(truth: Truth, lead: string): string {
  const text = truth.text(lead, truth.newest.get(lead) ?? 1) ?? '';
  return `${lead} ${hash('sha256', text).slice(0, 8)}`;
}

/** `r…`, by which the name of a delivery says that it is a replay; empty for one that is none. */
function replayIn(under: string): string {
  return /:(r\w+)$/.exec(under)?.[1] ?? '';
}

/** Of those with the same key the first. */
function firstOfEach(held: readonly Held[], keyOf: (one: Held) => string): Held[] {
  const met = new Set<string>();
  return held.filter((one) => met.size !== met.add(keyOf(one)).size);
}

/** Leads of those entries whose key stands more than once. */
function repeatsOf(held: readonly Held[], keyOf: (one: Held) => string): string[] {
  const met = new Set<string>();
  const repeated = held.filter((one) => met.size === met.add(keyOf(one)).size);
  return [...new Set(repeated.map((one) => one.lead))];
}

function leadOf(row: OwedRow): string {
  return row.lead_id;
}
