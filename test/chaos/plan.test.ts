import { expect, test } from 'vitest';
import { carriers } from '../support/scene/scene.ts';
import type { Deed } from './deed.ts';
import { partName } from './machine.ts';
import { drawPlan, type Plan } from './plan.ts';

const SECONDS = 60;
const SHARED = { ledger: 'postgres', machines: 2 } as const;

/** Returns what a plan does, without its functions, which are never equal. */
function told({ lanes, machines, ...rest }: Plan) {
  const deeds = Object.entries(allLanes({ lanes, machines })).flatMap(([name, lane]) =>
    lane.map(({ atMs, text }) => `${atMs} ${name} ${text}`),
  );
  return { deeds, starts: machines.map(({ starts }) => starts), ...rest };
}

/** Returns the actions on every part, with those on the parts of machines. */
function allLanes({ lanes, machines }: Pick<Plan, 'lanes' | 'machines'>): Record<string, readonly Told[]> {
  const own = machines.flatMap(({ daemon, worker, line }, index) => [
    [partName('daemon', index + 1), daemon] as const,
    [partName('worker', index + 1), worker] as const,
    [partName('line', index + 1), line] as const,
  ]);
  return { ...lanes, ...Object.fromEntries<readonly Told[]>(own) };
}

type Told = Pick<Deed<never>, 'atMs' | 'text'>;

test.each(carriers)('a seed always draws the same run (%s)', (carrier) => {
  expect(told(drawPlan(7, carrier, SECONDS))).toEqual(told(drawPlan(7, carrier, SECONDS)));
});

test('a run has the requested number of CRMs, and that number does not change the rest of the plan', () => {
  const [two, three] = [2, 3].map((count) => drawPlan(7, 'bullmq', SECONDS, count));
  expect(two?.crms).toEqual(three?.crms.slice(0, 2));
  expect(three?.crms.toSorted()).toEqual(['hubspot', 'pipedrive', 'salesforce']);
  const withoutCrms = ({ deeds }: ReturnType<typeof told>) =>
    deeds.filter((deed) => !deed.includes(' CRMs '));
  expect(two && withoutCrms(told(two))).toEqual(three && withoutCrms(told(three)));
});

test('a ledger on a server and more machines change nothing else', () => {
  const [one, two] = [1, 2].map((machines) =>
    told(drawPlan(7, 'bullmq', SECONDS, 2, { ledger: 'postgres', machines })),
  );
  const alone = told(drawPlan(7, 'bullmq', SECONDS));
  const shared = (deed: string) => !/ (ledger's server|(daemon|worker|line)( 2)?) /.test(deed);
  expect(one?.deeds.filter(shared)).toEqual(alone.deeds.filter(shared));
  expect(two?.deeds.filter(shared)).toEqual(alone.deeds.filter(shared));
  expect(one?.starts).toEqual(alone.starts);
  expect(two?.starts).toHaveLength(2);
  expect(two?.starts[0]).toEqual(alone.starts[0]);
});

test('two seeds draw two runs', () => {
  expect(told(drawPlan(7, 'bullmq', SECONDS))).not.toEqual(told(drawPlan(8, 'bullmq', SECONDS)));
});

test('on either carrier, a seed does the same to the parts that both have', () => {
  const [one, other] = carriers.map((carrier) => allLanes(drawPlan(7, carrier, SECONDS)));
  for (const lane of [
    'service',
    'other service',
    'receiver',
    'split receivers',
    'drop folder',
    'bucket',
    'CRMs',
    'destination',
    'postgres',
    'daemon',
    'operator',
    'configuration',
  ] as const)
    expect(one?.[lane]?.map(({ text }) => text)).toEqual(other?.[lane]?.map(({ text }) => text));
});

test('all actions are in order of time and end with the run', () => {
  for (let seed = 0; seed < 200; seed++) {
    for (const lane of Object.values(allLanes(drawPlan(seed, 'bullmq', SECONDS, 2, SHARED)))) {
      const times = lane.map(({ atMs }) => atMs);
      expect(times).toEqual(times.toSorted((a, b) => a - b));
      expect(Math.max(0, ...times)).toBeLessThanOrEqual(SECONDS * 1000);
    }
  }
});

test('every kind of trouble occurs over some seeds', () => {
  const texts = Array.from(
    { length: 100 },
    (_, seed) => told(drawPlan(seed, 'bullmq', SECONDS, 2, SHARED)).deeds,
  ).flat();
  for (const trouble of [
    'redis FLUSHALL',
    'redis frozen',
    'redis killed',
    'postgres killed',
    'postgres frozen',
    'drop folder full',
    "ledger's disk full",
    'daemon killed',
    'daemon asked to stop',
    'worker frozen',
    'daemon 2 killed',
    'worker 2 killed',
    "ledger's server killed",
    "ledger's server frozen",
    "ledger's server all sessions ended",
    "ledger's server its table _batches was locked",
    'line unplugged',
    'line passes nothing on',
    'line 2 all connections reset',
    'line 2 passes everything on',
    'receiver says 410',
    'receiver takes the lead and breaks the connection',
    'operator replays',
    'configuration crm gets mapping',
    'configuration drop gets leads as received',
    'configuration bucket gets mapping',
    'of the odd leads, by request',
    'split receivers takes the leads and breaks one connection in 2 for',
    'CRMs hubspot stores records and breaks the connection',
    'CRMs salesforce stores leads and names none',
    'CRMs pipedrive stores leads and names none',
    'CRMs hubspot gets mapping',
    'destination mysql is killed',
    'destination mysql commits and breaks the connection',
    'destination kafka is frozen',
    'destination kafka stores records and names no partition',
    'destination program stores half and fails',
    'destination target stores nothing and says nothing',
    'destination program gets mapping',
    'bucket stores files and breaks the connection',
    'service the next listing: truncated',
    'other service the next listing: truncated',
  ])
    expect(texts.filter((text) => text.includes(trouble)).length, trouble).toBeGreaterThan(0);
});
