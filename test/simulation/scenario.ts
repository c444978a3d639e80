import fc from 'fast-check';
import type { Trap } from './life.ts';
import type { DestinationManner } from './outside/destination.ts';
import type { ServiceManner } from './outside/service.ts';
import type { SinkSetup } from './process.ts';

/** Maximum sinks of a run; a larger number means one of the existing ones. */
const MOST_SINKS = 3;

/** An event of a run. Sinks and processes are given by number, and any number is valid. */
export type Action =
  | { readonly do: 'add' | 'change' | 'unlist' | 'break' | 'repeat'; readonly leads: number }
  | { readonly do: 'change-one'; readonly lead: number }
  | { readonly do: 'relist' | 'shuffle' | 'mend' }
  | { readonly do: 'service'; readonly manner: ServiceManner; readonly forMs: number }
  | { readonly do: 'sink'; readonly sink: number; readonly manner: DestinationManner; readonly forMs: number }
  | {
      readonly do: 'dislike';
      readonly sink: number;
      readonly lead: number;
      readonly how: 'refuses' | 'breaks';
      readonly forMs: number;
    }
  | { readonly do: 'trap'; readonly process: number; readonly trap: Trap; readonly forMs: number }
  | { readonly do: 'kill' | 'freeze'; readonly process: number; readonly forMs: number }
  | { readonly do: 'restart'; readonly process: number; readonly graceMs: number }
  | { readonly do: 'retire'; readonly sink: number; readonly forMs: number }
  | { readonly do: 'redis'; readonly fault: 'flush' | 'lose' | 'duplicate' }
  | {
      readonly do: 'contradict';
      readonly leads: number;
      readonly forMs: number;
    }
  | {
      readonly do: 'redis-down' | 'redis-late' | 'redis-twofold' | 'silence' | 'ledger-full' | 'ledger-busy';
      readonly forMs: number;
    }
  | { readonly do: 'ledger-fails'; readonly after: number; readonly times: number }
  | { readonly do: 'clock'; readonly byMs: number }
  | { readonly do: 'disk'; readonly code: string; readonly forMs: number }
  | { readonly do: 'power-cut'; readonly forMs: number }
  | { readonly do: 'pause' | 'resume'; readonly sink: number }
  | { readonly do: 'retry'; readonly sink: number; readonly dead: boolean }
  | { readonly do: 'replay'; readonly sink: number; readonly lead: number | undefined };

/** An action and its time. The time counts from the start, so that leaving out a step moves no other. */
export interface Step {
  readonly atMs: number;
  readonly action: Action;
}

/** A complete run: it determines everything that happens. */
export interface Scenario {
  /** The seed for what the steps leave open. */
  readonly chance: number;
  /** `workers`: one process polls and dispatches, two others deliver. */
  readonly carrier: 'in-process' | 'redis' | 'workers';
  readonly sinks: readonly SinkSetup[];
  readonly leads: number;
  readonly pollEveryMs: number;
  readonly steps: readonly Step[];
}

const SECOND = 1_000;
const DAY = 24 * 3_600 * SECOND;

const someMs = fc.oneof(
  fc.integer({ min: 0, max: 2 * SECOND }),
  fc.integer({ min: 0, max: 15 * SECOND }),
  fc.integer({ min: 0, max: 60 * SECOND }),
);
/** Times that are often close to one another. */
const atMs = fc.oneof(
  fc.nat({ max: 240 * SECOND }),
  fc.tuple(fc.nat({ max: 12 }), fc.nat({ max: 1_500 })).map(([round, ms]) => round * 20 * SECOND + ms),
);
const forMs = fc.oneof(fc.integer({ min: 1, max: 10 * SECOND }), fc.integer({ min: 1, max: 150 * SECOND }));
const few = fc.integer({ min: 1, max: 12 });
const sink = fc.nat({ max: MOST_SINKS - 1 });
const process = fc.nat({ max: 2 });
/** Few leads, so that several things happen to one lead. */
const lead = fc.integer({ min: 1, max: 4 });

function one<Kind extends string>(...kinds: Kind[]): fc.Arbitrary<Kind> {
  return fc.constantFrom(...kinds);
}

const trap: fc.Arbitrary<Trap> = fc.record({
  kind: one('kill', 'kill', 'freeze'),
  place: one('crossing', 'attempt', 'attempt', 'write'),
  after: fc.oneof(fc.nat({ max: 12 }), fc.nat({ max: 120 })),
});

const manner = one<DestinationManner>(
  'down',
  'limited',
  'gone',
  'refusing',
  'hanging',
  'deaf',
  'forgetful',
  'flapping',
  'flaky-10',
  'flaky-20',
  'flaky-30',
  'asking',
  'half',
  'broken',
  'slow',
);
const serviceManner = one<ServiceManner>('down', 'server-error', 'limited', 'cut', 'slow', 'empty');

const news: fc.Arbitrary<Action> = fc.oneof(
  fc.record({ do: one('add', 'add', 'change'), leads: few }),
  fc.record({ do: one('change-one'), lead }),
);

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ do: one('add'), leads: few }) },
  { weight: 1, arbitrary: fc.record({ do: one('change'), leads: few }) },
  { weight: 2, arbitrary: fc.record({ do: one('change-one'), lead }) },
  { weight: 2, arbitrary: fc.record({ do: one('unlist', 'break', 'repeat'), leads: few }) },
  { weight: 2, arbitrary: fc.record({ do: one('relist', 'shuffle', 'mend') }) },
  { weight: 4, arbitrary: fc.record({ do: one('contradict'), leads: few, forMs }) },
  { weight: 3, arbitrary: fc.record({ do: one('service'), manner: serviceManner, forMs }) },
  { weight: 8, arbitrary: fc.record({ do: one('sink'), sink, manner, forMs }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: one('dislike'), sink, lead, how: one('refuses', 'breaks'), forMs }),
  },
  { weight: 6, arbitrary: fc.record({ do: one('trap'), process, trap, forMs }) },
  { weight: 3, arbitrary: fc.record({ do: one('kill', 'freeze'), process, forMs }) },
  { weight: 2, arbitrary: fc.record({ do: one('restart'), process, graceMs: someMs }) },
  { weight: 1, arbitrary: fc.record({ do: one('retire'), sink, forMs }) },
  { weight: 3, arbitrary: fc.record({ do: one('redis'), fault: one('flush', 'lose', 'duplicate') }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: one('redis-down', 'redis-late', 'redis-twofold', 'silence'), forMs }),
  },
  { weight: 2, arbitrary: fc.record({ do: one('ledger-full', 'ledger-busy'), forMs }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: one('ledger-fails'),
      after: fc.nat({ max: 40 }),
      times: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: one('clock'),
      byMs: fc.constantFrom(DAY, -DAY, 3_600 * SECOND, -3_600 * SECOND, 90 * SECOND, -90 * SECOND, -7_321),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: one('disk'), code: one('ENOSPC', 'EIO', 'EDQUOT'), forMs }) },
  { weight: 1, arbitrary: fc.record({ do: one('power-cut'), forMs }) },
  { weight: 2, arbitrary: fc.record({ do: one('pause', 'resume'), sink }) },
  { weight: 3, arbitrary: fc.record({ do: one('retry'), sink, dead: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: one('replay'), sink, lead: fc.option(lead, { nil: undefined }) }) },
);

const setup = fc.record({
  type: one('webhook', 'webhook', 'csv'),
  events: fc.constantFrom(['created'] as const, ['created', 'updated'] as const),
  max: fc.constantFrom(1, 1, 3, 10),
  waitMs: fc.constantFrom(0, 0, 20 * SECOND),
  concurrency: fc.constantFrom(1, 2, 4),
  backfill: fc.constantFrom(true, true, false),
});

/** An event, often followed by leads that it affects. */
const episode: fc.Arbitrary<readonly Step[]> = fc
  .record({
    atMs,
    action,
    leads: fc.option(fc.record({ afterMs: fc.nat({ max: 3 * SECOND }), action: news }), { nil: undefined }),
  })
  .map(({ atMs, action, leads }) => [
    { atMs, action },
    ...(leads ? [{ atMs: atMs + leads.afterMs, action: leads.action }] : []),
  ]);

/** A process freezes during an attempt until another process makes it, slowly or in vain. */
const overlap: fc.Arbitrary<readonly Step[]> = fc
  .record({
    atMs,
    sink,
    manner: one<DestinationManner>('slow', 'down', 'fine'),
    process,
    after: fc.nat({ max: 8 }),
    forMs,
  })
  .map(({ atMs, sink, manner, process, after, forMs }) => [
    { atMs, action: { do: 'trap', process, trap: { kind: 'freeze', place: 'attempt', after }, forMs } },
    { atMs: atMs + 1, action: { do: 'add', leads: 3 } },
    { atMs: atMs + 35 * SECOND, action: { do: 'sink', sink, manner, forMs: 60 * SECOND } },
  ]);

/** A destination refuses so many leads in a row that it must be at fault itself. */
const rejection: fc.Arbitrary<readonly Step[]> = fc.record({ atMs, sink }).map(({ atMs, sink }) => [
  { atMs, action: { do: 'sink', sink, manner: 'refusing', forMs: 50 * SECOND } },
  { atMs: atMs + 1, action: { do: 'add', leads: 8 } },
]);

/** A lead fails at a destination and changes meanwhile: several times, and perhaps while the sink is removed. */
const correction: fc.Arbitrary<readonly Step[]> = fc
  .record({
    atMs,
    sink,
    lead,
    trouble: fc.oneof(
      fc.record({ do: one('dislike'), how: one('refuses', 'breaks') }),
      fc.record({ do: one('sink'), manner }),
    ),
    forMs: fc.integer({ min: 10 * SECOND, max: 150 * SECOND }),
    awayMs: fc.option(fc.integer({ min: 20 * SECOND, max: 90 * SECOND }), { nil: undefined }),
    changes: fc.array(someMs, { minLength: 1, maxLength: 3 }),
  })
  .map(({ atMs, sink, lead, trouble, forMs, awayMs, changes }): readonly Step[] => [
    { atMs, action: { ...trouble, sink, lead, forMs } as Action },
    { atMs: atMs + 1, action: { do: 'add', leads: 2 } },
    { atMs: atMs + 2, action: { do: 'change-one', lead } },
    ...(awayMs === undefined
      ? []
      : [{ atMs: atMs + 15 * SECOND, action: { do: 'retire', sink, forMs: awayMs } } as const]),
    ...changes.map(
      (afterMs) => ({ atMs: atMs + 10 * SECOND + afterMs, action: { do: 'change-one', lead } }) as const,
    ),
  ]);

/** A destination fails now and then for a long time, with a backlog and new leads. */
const flakiness: fc.Arbitrary<readonly Step[]> = fc
  .record({ atMs, sink, manner: one<DestinationManner>('flaky-10', 'flaky-20', 'flaky-30', 'asking') })
  .map(({ atMs, sink, manner }) => [
    { atMs, action: { do: 'sink', sink, manner, forMs: 120 * SECOND } },
    { atMs: atMs + 1, action: { do: 'add', leads: 30 } },
    { atMs: atMs + 40 * SECOND, action: { do: 'add', leads: 6 } },
  ]);

function inOrder(steps: readonly Step[]): readonly Step[] {
  return steps.toSorted((one, other) => one.atMs - other.atMs);
}

/** All possible runs. */
export const scenarios: fc.Arbitrary<Scenario> = fc.record({
  chance: fc.noShrink(fc.integer()),
  carrier: one('in-process', 'redis', 'workers'),
  sinks: fc
    .array(setup, { minLength: 1, maxLength: MOST_SINKS })
    .map((sinks) => sinks.map((one, index) => ({ ...one, name: `${one.type}${index}` }))),
  leads: fc.nat({ max: 25 }),
  pollEveryMs: fc.constantFrom(10 * SECOND, 30 * SECOND),
  steps: fc
    .array(
      fc.oneof(
        { weight: 10, arbitrary: episode },
        { weight: 1, arbitrary: overlap },
        { weight: 1, arbitrary: rejection },
        { weight: 2, arbitrary: correction },
        { weight: 1, arbitrary: flakiness },
      ),
      { minLength: 2, maxLength: 16, size: 'max' },
    )
    .map((episodes) => inOrder(episodes.flat())),
});

/** Returns a scenario as text, one line per step. */
export function told({ steps, ...rest }: Scenario): string {
  const sinks = rest.sinks.map((sink) => `  ${JSON.stringify(sink)}`);
  const lines = steps.map(({ atMs, action }) => `  at ${atMs} ms: ${JSON.stringify(action)}`);
  const head = `carrier ${rest.carrier}, ${rest.leads} leads at first, polled every ${rest.pollEveryMs} ms, chance ${rest.chance}`;
  return [head, ...sinks, ...lines].join('\n');
}
