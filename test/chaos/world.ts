import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DESTINATIONS } from '../support/destinations/destinations.ts';
import { SmallDisk } from '../support/files/small-disk.ts';
import { canaryLead } from '../support/scene/canary.ts';
import { type CarrierName, openScene, type Scene } from '../support/scene/scene.ts';
import { type PrivatePostgres, startPostgres } from '../support/servers/private-postgres.ts';
import { type PrivateRedis, startRedis } from '../support/servers/private-redis.ts';
import { until } from '../support/time/until.ts';
import { Configuration } from './configuration.ts';
import { Crms, patient } from './crms/crms.ts';
import { EagerReader } from './eager-reader.ts';
import { FIRST_FORMS } from './lanes/configuration.ts';
import { healRedis } from './lanes/redis.ts';
import { ledgerInFile } from './ledgers/ledger-in-file.ts';
import { LedgerOnServer } from './ledgers/ledger-on-server.ts';
import type { RunLedger } from './ledgers/run-ledger.ts';
import { allReady, type Machine, prepareMachine, processesOf, writePlaces } from './machine.ts';
import { InForce } from './mappings/in-force.ts';
import { keepHistory } from './mappings/table-history.ts';
import { Operator } from './operator.ts';
import type { Parts } from './parts.ts';
import { type Plan, type Setting, type SPLIT, WEBHOOK_TIMEOUT_MS } from './plan.ts';
import { type Repeats, repeatsIn, type Troubles } from './repeats.ts';
import { WatchedDisk } from './watched-disk.ts';
import { WatchedReceiver } from './watched-receiver.ts';
import { WatchedStorage } from './watched-storage.ts';
import type { WatchedWire } from './watched-wire.ts';

/** Leads whose text can be recognised wherever it leaks; they exist from the start and are delivered like any other. */
export const CANARY_IDS = [9_000_001, 9_000_002, 9_000_003];
export const CANARIES = CANARY_IDS.map(canaryLead);

/** Everything that a run needs: separate and started. */
export interface World {
  readonly folder: string;
  readonly scene: Scene;
  readonly parts: Parts;
  readonly ledger: RunLedger;
  /** Which mappings may have been in force when. */
  readonly inForce: InForce;
  /** The reader of the CSV files. */
  readonly reader: EagerReader;
  /** Ends every trouble: all parts except leadsync work again, and no more leads arrive. */
  heal(): Promise<void>;
  /** Returns what the webhook received more than once. */
  repeats(): Promise<Repeats>;
  /** Returns what leadsync, its commands and its logs did wrong. */
  faults(): string[];
  /** Stops everything, and removes the folder unless `keep` is set. */
  close(keep: boolean): Promise<void>;
}

/** Opens a world in a new temporary folder, with leadsync running in it for the first time. */
export async function openWorld(
  plan: Plan,
  carrier: CarrierName,
  setting: Setting,
  say: (part: string, text: string) => void,
): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'leadsync-chaos-'));
  const closes: (() => unknown)[] = [];
  const closeAll = async (keep: boolean) => {
    for (const close of closes.toReversed()) await close();
    if (!keep) rmSync(folder, { recursive: true, force: true });
  };
  try {
    const [redis, server] = await startServers(carrier, closes);
    const [ledgerServer, lines] = await startLedgerServer(setting, closes);
    const disks = {
      // A sink with batches of one lead writes a file of at least 4 KiB for each of them.
      drop: new SmallDisk(join(folder, 'drop'), 256),
      data: new WatchedDisk(join(folder, 'data'), 256),
    };
    closes.push(
      () => disks.drop.close(),
      () => disks.data.close(),
    );
    const bucket = new WatchedStorage();
    closes.push(() => bucket.close());
    const ofBucket = { ...plan.bucket, ...(await bucket.start()) };
    const crms = await Crms.open(plan.crms);
    closes.push(() => crms.close());
    const destination = await DESTINATIONS[plan.destination].open(folder);
    closes.push(() => destination.close());
    const scene = await openScene(folder, carrier, {
      ...plan.scene,
      others: {
        ...crms.sinks,
        [plan.destination]: { ...destination, options: patient(destination.options) },
      },
      drops: { bucket: { options: ofBucket, files: () => bucket.files() } },
      databaseUrl: server.url,
      ...(redis ? { redisUrl: redis.url } : {}),
      config: {
        stop: { grace: '4s' },
        watch: true,
        ...(ledgerServer && lines[0]
          ? {
              ledger: ledgerServer.section(lines[0]),
              tokens: { encryption_key: 'a passphrase for every machine' },
            }
          : {}),
      },
      source: { timeout: '3s', deadline: '10s' },
    });
    closes.push(() => scene.close());
    for (const text of CANARIES) scene.stub.addRaw(text);
    await keepHistory(scene);
    const inForce = new InForce();
    inForce.written(FIRST_FORMS);
    const places = await writePlaces(scene, folder, ledgerServer, lines);
    const configuration = new Configuration(places, inForce);
    closes.push(() => configuration.close());
    await crms.setUp(scene, configuration);
    await destination.setUp?.(scene);
    const excuse = (sinceMs: number) => {
      if (disks.data.wasFull(sinceMs)) return "the ledger's disk was full";
      const isAway = [ledgerServer, ...lines].some((one) => one?.trouble.hasAnySince(sinceMs));
      return isAway ? "the ledger's server could not be reached" : undefined;
    };
    const logFolder = join(folder, 'logs');
    mkdirSync(logFolder);
    const machines = places.map((place, index) => {
      const planned = plan.machines[index];
      if (planned === undefined) throw new RangeError(`there is no plan for machine ${index + 1}`);
      return prepareMachine(place, index + 1, planned, lines[index], { say, excuse, logFolder });
    });
    const processes = processesOf(machines);
    for (const one of processes) closes.push(() => one.end('SIGKILL'));
    const operator = new Operator(scene, excuse);
    const watched = (sink: (typeof SPLIT)[number]) =>
      new WatchedReceiver(scene.receivers[sink] ?? scene.receiver);
    const parts: Parts = {
      service: scene.stub,
      'other service': scene.services['other'],
      receiver: new WatchedReceiver(scene.receiver),
      'split receivers': { even: watched('even'), odd: watched('odd') },
      'drop folder': disks.drop,
      bucket,
      CRMs: crms,
      destination: { destination, configuration },
      "ledger's disk": disks.data,
      postgres: { server, query: scene.query, schema: scene.schema },
      redis,
      "ledger's server": ledgerServer,
      machines,
      operator,
      configuration,
    };
    const ledger = ledgerServer ?? ledgerInFile(scene.dataDir);
    await startAll(machines, ledger, carrier);
    return {
      folder,
      scene,
      parts,
      ledger,
      inForce,
      reader: new EagerReader(scene.drop),
      heal: () => heal(parts),
      repeats: async () => {
        const { unanswered, lostMs } = await ledger.read();
        const troubles = { ...troublesOf(parts), unanswered, lostMs };
        return repeatsIn(parts.receiver.requests, troubles, WEBHOOK_TIMEOUT_MS);
      },
      faults: () => [...processes, operator].flatMap((part) => part.faults),
      close: closeAll,
    };
  } catch (error) {
    await closeAll(false);
    throw error;
  }
}

async function startServers(
  carrier: CarrierName,
  closes: (() => unknown)[],
): Promise<[PrivateRedis | undefined, PrivatePostgres]> {
  const redis = carrier === 'bullmq' ? await startRedis() : undefined;
  if (redis) closes.push(() => redis.close());
  const server = await startPostgres();
  closes.push(() => server.close());
  return [redis, server];
}

/** Starts the server of the ledger, if there is one, and opens the line of each machine to it. */
async function startLedgerServer(
  { ledger, machines }: Setting,
  closes: (() => unknown)[],
): Promise<[LedgerOnServer | undefined, WatchedWire[]]> {
  if (ledger === 'sqlite') return [undefined, []];
  const server = await LedgerOnServer.start();
  closes.push(() => server.close());
  const lines = await Promise.all(Array.from({ length: machines }, () => server.openLine()));
  for (const line of lines) closes.push(() => line.close());
  return [server, lines];
}

/** Starts the processes of all machines: those that need a ledger once the first daemon has created it. */
async function startAll(
  machines: readonly Machine[],
  ledger: RunLedger,
  carrier: CarrierName,
): Promise<void> {
  const [first, ...others] = machines;
  first?.daemon.start();
  await until('there is a ledger', () => ledger.exists(), 20_000);
  for (const { daemon } of others) daemon.start();
  if (carrier === 'bullmq') for (const { worker } of machines) worker.start();
  await allReady(machines, 60_000);
}

/** Returns what was done to leadsync so far that can lead to a repeat. */
export function troublesOf({
  machines,
  "ledger's disk": disk,
  "ledger's server": server,
}: Parts): Omit<Troubles, 'unanswered' | 'lostMs'> {
  const processes = processesOf(machines);
  const lines = machines.flatMap(({ line }) => (line ? line.trouble.all : []));
  return {
    ends: processes.flatMap(({ ends }) => ends),
    frozen: processes.flatMap(({ frozen }) => frozen),
    unwritable: server ? [...server.trouble.all, ...lines] : disk.full.all,
  };
}

async function heal(parts: Parts): Promise<void> {
  for (const service of [parts.service, parts['other service']]) {
    service?.arrive(0);
    service?.behave();
  }
  for (const receiver of [parts.receiver, ...Object.values(parts['split receivers'])]) receiver.takeAll();
  parts.bucket.takeAll();
  parts.CRMs.takeAll();
  await parts.destination.destination.behave();
  parts['drop folder'].heal();
  parts["ledger's disk"].heal();
  const { server } = parts.postgres;
  server.thaw();
  if (server.process.exitCode !== null || server.process.signalCode !== null) await server.restart();
  if (parts.redis) await healRedis(parts.redis);
  await parts["ledger's server"]?.heal();
  for (const { line } of parts.machines) line?.heal();
  for (const process of processesOf(parts.machines)) process.thaw();
}
