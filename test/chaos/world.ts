import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
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
import { InForce } from './mappings/in-force.ts';
import { readLedger } from './mappings/ledger-record.ts';
import { keepHistory } from './mappings/table-history.ts';
import { Operator } from './operator.ts';
import type { Parts } from './parts.ts';
import { type Plan, type SPLIT, WEBHOOK_TIMEOUT_MS } from './plan.ts';
import { Process, type ProcessOptions } from './process.ts';
import { type Repeats, repeatsIn, type Troubles } from './repeats.ts';
import { WatchedDisk } from './watched-disk.ts';
import { WatchedReceiver } from './watched-receiver.ts';
import { WatchedStorage } from './watched-storage.ts';

/** Leads whose text can be recognised wherever it leaks; they exist from the start and are delivered like any other. */
export const CANARY_IDS = [9_000_001, 9_000_002, 9_000_003];
export const CANARIES = CANARY_IDS.map(canaryLead);

/** Everything that a run needs: separate and started. */
export interface World {
  readonly folder: string;
  readonly scene: Scene;
  readonly parts: Parts;
  /** Which mappings may have been in force when. */
  readonly inForce: InForce;
  /** The reader of the CSV files. */
  readonly reader: EagerReader;
  /** Ends every trouble: all parts except leadsync work again, and no more leads arrive. */
  heal(): Promise<void>;
  /** Returns what the webhook received more than once. */
  repeats(): Repeats;
  /** Returns what leadsync, its commands and its logs did wrong. */
  faults(): string[];
  /** Stops everything, and removes the folder unless `keep` is set. */
  close(keep: boolean): Promise<void>;
}

/** Opens a world in a new temporary folder, with leadsync running in it for the first time. */
export async function openWorld(
  plan: Plan,
  carrier: CarrierName,
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
      config: { stop: { grace: '4s' }, watch: true },
      source: { timeout: '3s', deadline: '10s' },
    });
    closes.push(() => scene.close());
    for (const text of CANARIES) scene.stub.addRaw(text);
    await keepHistory(scene);
    const inForce = new InForce();
    inForce.written(FIRST_FORMS);
    const configuration = new Configuration(scene.configFile, scene.adminUrl, inForce);
    closes.push(() => configuration.close());
    await crms.setUp(scene, configuration);
    await destination.setUp?.(scene);
    const excuse = (sinceMs: number) =>
      disks.data.wasFull(sinceMs) ? "the ledger's disk was full" : undefined;
    const [daemon, worker] = processes(plan, scene, folder, { say, excuse });
    closes.push(
      () => daemon.end('SIGKILL'),
      () => worker.end('SIGKILL'),
    );
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
      daemon,
      worker,
      operator,
      configuration,
    };
    daemon.start();
    await until('there is a ledger', () => existsSync(join(scene.dataDir, 'ledger.db')), 20_000);
    if (carrier === 'bullmq') worker.start();
    // A failpoint may end it before it is ready; then it is started again.
    await until('leadsync is ready', async () => (await fetch(`${scene.adminUrl}/readyz`)).ok, 60_000);
    return {
      folder,
      scene,
      parts,
      inForce,
      reader: new EagerReader(scene.drop),
      heal: () => heal(parts),
      repeats: () => {
        const { unanswered, lostMs } = readLedger(scene.dataDir);
        const troubles = { ...troublesOf(parts), unanswered, lostMs };
        return repeatsIn(parts.receiver.requests, troubles, WEBHOOK_TIMEOUT_MS);
      },
      faults: () => [daemon, worker, operator].flatMap((part) => part.faults),
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

function processes(
  plan: Plan,
  scene: Scene,
  folder: string,
  { say, excuse }: { say: (part: string, text: string) => void; excuse: ProcessOptions['excuse'] },
): [Process, Process] {
  const logFolder = join(folder, 'logs');
  mkdirSync(logFolder);
  const make = (name: 'daemon' | 'worker', args: ProcessOptions['args']) =>
    new Process({ name, args, starts: plan.starts[name], logFolder, say: (text) => say(name, text), excuse });
  const config = ['-c', scene.configFile];
  return [
    make('daemon', ({ deliver }) => ['run', ...(deliver ? [] : ['--no-deliver']), ...config]),
    make('worker', () => ['worker', ...config]),
  ];
}

/** Returns what was done to leadsync so far that can lead to a repeat. */
export function troublesOf({
  daemon,
  worker,
  "ledger's disk": disk,
}: Parts): Omit<Troubles, 'unanswered' | 'lostMs'> {
  return {
    ends: [...daemon.ends, ...worker.ends],
    frozen: [...daemon.frozen, ...worker.frozen],
    full: disk.fullSpells,
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
  parts.daemon.thaw();
  parts.worker.thaw();
}
