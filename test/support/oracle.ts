import { type Held, type Scene, SINKS, type SinkName } from './scene.ts';

/** What became, at one sink, of every lead that was served. Lists are of lead ids. */
export interface SinkAccount {
  /** Leads that the sink holds. */
  readonly delivered: number;
  /** Leads that the sink was given more than once under the same `webhook-id`: what a receiver can recognise. */
  readonly repeated: readonly string[];
  /** Leads whose same content the sink holds more than once under different names: what a receiver cannot recognise. */
  readonly twice: readonly string[];
  /** Leads that the sink has only in an older version, or in an older one after the newest. */
  readonly stale: readonly string[];
  /** Leads that no listing had. */
  readonly foreign: readonly string[];
  /** Leads that the ledger gave up on or skipped; each must have a reason. */
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
  readonly sinks: Readonly<Record<SinkName, SinkAccount>>;
}

interface OwedRow {
  readonly lead_id: string;
  readonly sink: string;
  readonly state: 'pending' | 'dead' | 'skipped';
  readonly reason: string | null;
}

/** Takes the account from outside: the stub's record, the sinks' own contents, and the `deliveries` command. */
export async function accountOf(scene: Scene): Promise<Account> {
  const newest = new Map(
    scene.stub.served.ids().map((id) => [String(id), scene.stub.served.versions(id).at(-1) ?? 1]),
  );
  const held = await scene.held();
  const owed = await undelivered(scene);
  const accounts = SINKS.map((sink) => [
    sink,
    sinkAccount(
      newest,
      held[sink],
      owed.filter((row) => row.sink === sink),
    ),
  ]);
  return { served: newest.size, sinks: Object.fromEntries(accounts) };
}

/**
 * The account of a scene that is healed and at rest, as the one promise has it: everything is delivered, dead or skipped
 * with a reason, in its newest version, and only the webhook's repeats are allowed, where `repeats` says so.
 */
export function faultsOf({ sinks }: Account, allowed: { repeats: boolean }): string[] {
  return SINKS.flatMap((sink) => {
    const account = sinks[sink];
    const wrong = ['lost', 'pending', 'twice', 'stale', 'foreign', 'withoutReason'] as const;
    const faults = allowed.repeats ? wrong : ([...wrong, 'repeated'] as const);
    return faults
      .filter((fault) => account[fault].length > 0)
      .map(
        (fault) => `${sink}: ${account[fault].length} ${fault} (${account[fault].slice(0, 5).join(', ')})`,
      );
  });
}

async function undelivered(scene: Scene): Promise<readonly OwedRow[]> {
  const states = ['pending', 'dead', 'skipped'];
  const answer = await scene.run('deliveries', '--json', '--limit', '100000', '--state', ...states);
  if (answer.code !== 0) throw new Error(`leadsync deliveries ended with ${answer.code}: ${answer.stderr}`);
  const { deliveries, more } = JSON.parse(answer.stdout) as { deliveries: OwedRow[]; more: boolean };
  if (more) throw new Error('more than 100,000 deliveries are not delivered');
  return deliveries;
}

function sinkAccount(
  newest: ReadonlyMap<string, number>,
  held: readonly Held[],
  owed: readonly OwedRow[],
): SinkAccount {
  const leadsIn = (state: OwedRow['state']) => owed.filter((row) => row.state === state).map(leadOf);
  const last = new Map(held.map(({ lead, version }) => [lead, version]));
  const notHeld = new Set(owed.map(leadOf));
  const served = [...newest.keys()];
  return {
    delivered: last.size,
    repeated: repeatsOf(held, ({ lead, under }) => `${lead} ${under}`),
    twice: twiceOf(held),
    stale: served.filter(
      (lead) => last.has(lead) && !notHeld.has(lead) && last.get(lead) !== newest.get(lead),
    ),
    foreign: [...last.keys()].filter((lead) => !newest.has(lead)),
    dead: leadsIn('dead'),
    skipped: leadsIn('skipped'),
    withoutReason: owed.filter((row) => row.state !== 'pending' && !row.reason).map(leadOf),
    pending: leadsIn('pending'),
    lost: served.filter((lead) => !last.has(lead) && !notHeld.has(lead)),
  };
}

/** Leads of which the sink holds one version under more than one name. */
function twiceOf(held: readonly Held[]): string[] {
  const distinct = new Map(
    held.map((one) => [`${one.lead} ${one.version} ${one.under}`, one] as const),
  ).values();
  return repeatsOf([...distinct], ({ lead, version }) => `${lead} ${version}`);
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
