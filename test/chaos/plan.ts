import { Chance } from '../simulation/chance.ts';
import { DESTINATION_NAMES, type DestinationName } from '../support/destinations/destinations.ts';
import { type CarrierName, type SceneOptions, SINKS } from '../support/scene/scene.ts';
import { CRMS, type CrmName } from './crms/crms.ts';
import { type Deed, oneOf } from './deed.ts';
import { drawBucket } from './lanes/bucket.ts';
import { drawConfiguration, drawLastForms, FIRST_SPLIT } from './lanes/configuration.ts';
import { drawCrms } from './lanes/crms.ts';
import { drawDestination } from './lanes/destination.ts';
import { drawDropDisk, drawLedgerDisk } from './lanes/disk.ts';
import { DAEMON_TROUBLES, drawProcess, drawStarts, WORKER_TROUBLES } from './lanes/leadsync.ts';
import { drawLedgerServer, drawLine } from './lanes/ledger-server.ts';
import { drawOperator } from './lanes/operator.ts';
import { drawPostgres } from './lanes/postgres.ts';
import { drawReceiver, drawSplitReceivers } from './lanes/receiver.ts';
import { drawRedis } from './lanes/redis.ts';
import { drawService, FIRST_ID } from './lanes/service.ts';
import type { LedgerName } from './ledgers/run-ledger.ts';
import { partName } from './machine.ts';
import { optionsOf } from './mappings/form.ts';
import type { Parts } from './parts.ts';
import type { Process, Start } from './process.ts';
import type { WatchedWire } from './watched-wire.ts';

/** The actions on each part of the world but the machines, in order of time. */
export type Lanes = {
  readonly [Name in Exclude<keyof Parts, 'machines'>]: readonly Deed<NonNullable<Parts[Name]>>[];
};

/** The actions on the parts of a machine, in order of time, and the successive starts of its processes. */
export interface MachinePlan {
  readonly daemon: readonly Deed<Process>[];
  readonly worker: readonly Deed<Process>[];
  readonly line: readonly Deed<WatchedWire>[];
  readonly starts: Readonly<Record<'daemon' | 'worker', readonly Start[]>>;
}

/** Where a run keeps the ledger, and the number of its machines. */
export interface Setting {
  readonly ledger: LedgerName;
  readonly machines: number;
}

/** Everything that a seed determines. */
export interface Plan {
  readonly lanes: Lanes;
  /** The CRMs of the run, and its other destination: a run has some of them, so that it does not last longer. */
  readonly crms: readonly CrmName[];
  readonly destination: DestinationName;
  readonly scene: Pick<SceneOptions, 'stub' | 'services' | 'sinks' | 'receivers'>;
  /** The options of the sink of files in a bucket, without those of the bucket. */
  readonly bucket: Readonly<Record<string, unknown>>;
  readonly machines: readonly MachinePlan[];
  /** Whether the daemon keeps running while everything is healed, or is restarted. */
  readonly healRunning: boolean;
  /** The changes of mappings when everything is healed, and the last one of each sink. */
  readonly lastForms: ReturnType<typeof drawLastForms>;
}

/** The webhook's deadline for an answer, in ms. */
export const WEBHOOK_TIMEOUT_MS = 2_000;

/** The sinks between which `where` splits the leads, with a `rate` that reloads must not restart. */
export const SPLIT = ['even', 'odd'] as const;
export const SPLIT_RATE = { perSecond: 10, concurrency: 10 };

const RETRY = { schedule: ['1s', '2s', '4s', '8s', '8s', '8s'] };

/** Draws the whole run from the seed, with so many CRMs, before any part of it starts. */
export function drawPlan(
  seed: number,
  carrier: CarrierName,
  seconds: number,
  crmCount = 2,
  { ledger, machines }: Setting = { ledger: 'sqlite', machines: 1 },
): Plan {
  const of = (stream: string) => new Chance(seed, stream);
  const endMs = seconds * 1000;
  const queued = carrier === 'bullmq';
  const twoServices = of('other service').oneIn(2);
  const crms = of('which CRMs').some(CRMS, crmCount);
  const destination = oneOf(of('which destination'), DESTINATION_NAMES);
  return {
    lanes: {
      service: drawService(of('service'), endMs),
      'other service': twoServices ? drawService(of('lane of the other service'), endMs) : [],
      receiver: drawReceiver(of('receiver'), endMs),
      'split receivers': drawSplitReceivers(of('split receivers'), endMs),
      'drop folder': drawDropDisk(of('drop folder'), endMs),
      bucket: drawBucket(of('bucket'), endMs),
      CRMs: drawCrms(of('CRMs'), endMs, crms),
      destination: drawDestination(of('destination'), endMs, destination),
      "ledger's disk": drawLedgerDisk(of('ledger disk'), endMs),
      postgres: drawPostgres(of('postgres'), endMs),
      redis: queued ? drawRedis(of('redis'), endMs) : [],
      "ledger's server": ledger === 'postgres' ? drawLedgerServer(of("ledger's server"), endMs) : [],
      operator: drawOperator(of('operator'), endMs, [...SINKS, destination]),
      configuration: drawConfiguration(of('configuration'), endMs),
    },
    crms,
    destination,
    scene: {
      stub: drawStub(of('stub'), seed),
      services: twoServices ? { other: drawStub(of('other stub'), seed + 1) } : {},
      sinks: drawSinks(of('sinks')),
      receivers: splitOptions(),
    },
    bucket: {
      events: ['created', 'updated'],
      retry: RETRY,
      timeout: '3s',
      batch: { max: oneOf(of('bucket sink'), [5, 100]), wait: '300ms' },
    },
    machines: Array.from({ length: machines }, (_, index) => {
      const own = (stream: string) => of(partName(stream, index + 1));
      const alone = machines === 1;
      return {
        daemon: drawProcess(own('daemon'), endMs, alone ? DAEMON_TROUBLES : WORKER_TROUBLES),
        worker: queued ? drawProcess(own('worker'), endMs, WORKER_TROUBLES) : [],
        line: ledger === 'postgres' ? drawLine(own("line to the ledger's server"), endMs, alone) : [],
        starts: {
          daemon: drawStarts(own('starts of the daemon'), { mayLeaveDeliveries: queued }),
          worker: drawStarts(own('starts of the worker'), { mayLeaveDeliveries: false }),
        },
      };
    }),
    healRunning: of('healing').oneIn(2),
    lastForms: drawLastForms(of('last mappings'), seconds),
  };
}

function drawStub(chance: Chance, seed: number): NonNullable<SceneOptions['stub']> {
  return {
    seed,
    firstId: FIRST_ID,
    leads: oneOf(chance, [0, 300, 2_000]),
    tokenLifetimeSeconds: oneOf(chance, [4, 20, 7_200]),
    doorkeeper: chance.oneIn(2),
    gzip: chance.oneIn(2),
    transfer: oneOf(chance, ['chunked', 'length'] as const),
    etag: oneOf(chance, ['none', 'strong', 'weak'] as const),
  };
}

/** Returns the options of the split sinks, with their first mappings. */
function splitOptions(): NonNullable<SceneOptions['receivers']> {
  const { perSecond, concurrency } = SPLIT_RATE;
  const shared = {
    events: ['created', 'updated'],
    timeout: `${WEBHOOK_TIMEOUT_MS}ms`,
    batch: { max: 10, wait: '0s' },
    rate: `${perSecond}/s`,
    concurrency,
    retry: RETRY,
  };
  return Object.fromEntries(FIRST_SPLIT.map((form) => [form.sink, { ...shared, ...optionsOf(form) }]));
}

/** Draws sinks with both events, short deadlines, and retries that end within a run. */
function drawSinks(chance: Chance): NonNullable<SceneOptions['sinks']> {
  const shared = { events: ['created', 'updated'], retry: RETRY };
  return {
    crm: {
      ...shared,
      timeout: `${WEBHOOK_TIMEOUT_MS}ms`,
      concurrency: oneOf(chance, [1, 5, 20]),
      batch: { max: oneOf(chance, [1, 1, 15]), wait: '0s' },
    },
    drop: {
      ...shared,
      // All machines of a run see the same folder.
      shared: true,
      timeout: '3s',
      batch: { max: oneOf(chance, [1, 20, 200]), wait: '300ms' },
    },
    warehouse: {
      ...shared,
      timeout: '3s',
      concurrency: oneOf(chance, [1, 3]),
      batch: { max: oneOf(chance, [1, 50, 1_000]), wait: '0s' },
    },
  };
}
