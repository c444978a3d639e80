import { join } from 'node:path';
import { Client } from 'pg';
import { type HubSpotStub, startHubSpotStub } from '../../test/stub/hubspot/hubspot-stub.ts';
import type { Opened } from '../../test/support/program/tool.ts';
import { type PrivatePostgres, startPostgres } from '../../test/support/servers/private-postgres.ts';
import { LeadFiles } from '../showcase/lead-files.ts';
import { count, type Tally } from '../showcase/tally.ts';
import { down, flaky, picky, Receiver, slow, well } from './receiver.ts';

/** What one sink of the world has brought, as its destination sees it. */
export interface Destination {
  readonly sink: string;
  tally(): Promise<Tally>;
  /** The receiver, if the sink is a webhook. */
  readonly receiver?: Receiver;
}

const BEHAVIOURS = { steady: well, flaky, outage: well, picky: well, slow } as const;
type Hook = keyof typeof BEHAVIOURS;

/** The destinations of the nine sinks. */
export class Destinations {
  readonly all: readonly Destination[];
  /** Variables of the configuration. */
  readonly variables: Readonly<Record<string, string>>;
  readonly #receivers: Readonly<Record<Hook, Receiver>>;
  readonly #postgres: PrivatePostgres;
  readonly #hubspot: HubSpotStub;
  readonly #hubspotToken: string;

  private constructor(
    folder: string,
    hooks: Readonly<Record<Hook, { readonly receiver: Receiver; readonly url: string }>>,
    postgres: PrivatePostgres,
    hubspot: HubSpotStub,
  ) {
    const [files, lake] = [LeadFiles.csv(join(folder, 'files')), LeadFiles.parquet(join(folder, 'lake'))];
    this.#postgres = postgres;
    this.#hubspot = hubspot;
    this.#hubspotToken = hubspot.token;
    this.#receivers = mapped(hooks, ({ receiver }) => receiver);
    this.all = [
      ...Object.entries(this.#receivers).map(([sink, receiver]) => ({
        sink,
        receiver,
        tally: async () => receiver.tally,
      })),
      { sink: 'files', tally: () => files.tally() },
      { sink: 'lake', tally: () => lake.tally() },
      { sink: 'warehouse', tally: () => rowsOf(postgres.url) },
      { sink: 'hubspot', tally: async () => dealsOf(hubspot) },
    ];
    this.variables = {
      WORLD_STEADY_URL: hooks.steady.url,
      WORLD_FLAKY_URL: hooks.flaky.url,
      WORLD_OUTAGE_URL: hooks.outage.url,
      WORLD_PICKY_URL: hooks.picky.url,
      WORLD_SLOW_URL: hooks.slow.url,
      WORLD_DATABASE_URL: postgres.url,
      WORLD_HUBSPOT_URL: hubspot.url,
      WORLD_HUBSPOT_TOKEN: hubspot.token,
    };
  }

  /** Starts all of them; `isNew` says whether a lead was created while the world ran. */
  static async start(
    opened: Opened,
    { folder, secret, isNew }: { folder: string; secret: string; isNew: (lead: number) => boolean },
  ): Promise<Destinations> {
    const close = (one: { close(): Promise<void> }) => one.close();
    const hook = (name: Hook) => opened.add(() => Receiver.start(secret, BEHAVIOURS[name], isNew), close);
    const hooks = {
      steady: await hook('steady'),
      flaky: await hook('flaky'),
      outage: await hook('outage'),
      picky: await hook('picky'),
      slow: await hook('slow'),
    };
    const hubspot = await opened.add(() => startHubSpotStub(), close);
    const postgres = await opened.add(() => startPostgres(), close);
    return new Destinations(folder, hooks, postgres, hubspot);
  }

  /** Whether leads have arrived at each of the receivers. */
  get hasSome(): boolean {
    return Object.values(this.#receivers).every(({ tally }) => tally.size > 0);
  }

  /** The receiver of `picky` begins to refuse leads. */
  refuseSome(): void {
    this.#receivers.picky.behaviour = picky;
  }

  /** The receiver of `outage` closes every connection, or accepts leads again. */
  setOutage(isDown: boolean): void {
    this.#receivers.outage.behaviour = isDown ? down : well;
  }

  /** HubSpot refuses leadsync's token, or accepts it again. */
  setHubSpotRefuses(refuses: boolean): void {
    this.#hubspot.revokeToken(refuses ? undefined : this.#hubspotToken);
  }

  stopPostgres(): Promise<void> {
    return this.#postgres.crash();
  }

  startPostgres(): Promise<void> {
    return this.#postgres.restart();
  }

  /** Makes everything work, and at once. Only `picky` still refuses what it refused. */
  async heal(): Promise<void> {
    for (const name of ['steady', 'flaky', 'outage', 'slow'] as const) this.#receivers[name].behaviour = well;
    this.setHubSpotRefuses(false);
    if (this.#postgres.process.exitCode !== null || this.#postgres.process.signalCode !== null)
      await this.startPostgres();
  }
}

async function rowsOf(url: string): Promise<Tally> {
  const client = new Client({ connectionString: url });
  try {
    await client.connect();
    const { rows } = await client.query<{ id: string }>('SELECT id FROM leadsync.leads');
    return tallyOf(rows.map(({ id }) => Number(id)));
  } finally {
    await client.end();
  }
}

/** Counts the deals by the lead that leadsync noted in each, as `source:id`. */
function dealsOf(hubspot: HubSpotStub): Tally {
  return tallyOf(
    hubspot.records.deals.map(({ properties }) => Number(properties['leadsync_key']?.split(':')[1])),
  );
}

function tallyOf(ids: readonly number[]): Tally {
  const tally: Tally = new Map();
  for (const id of ids) count(tally, id);
  return tally;
}

function mapped<Key extends string, From, To>(
  from: Readonly<Record<Key, From>>,
  to: (value: From) => To,
): Record<Key, To> {
  return Object.fromEntries(Object.entries<From>(from).map(([key, value]) => [key, to(value)])) as Record<
    Key,
    To
  >;
}
