import fc from 'fast-check';
import { apply } from './apply.ts';
import { mix } from './chance.ts';
import { checkWhole, judgeEnd, Lookout } from './judging/oracle.ts';
import { Violation } from './judging/violation.ts';
import { type Scenario, scenarios, told } from './scenario.ts';
import { World } from './world.ts';

/** The result of a run. */
export interface Run {
  readonly attempts: number;
  readonly repeats: number;
  readonly deaths: number;
  readonly leads: number;
  /** The simulated time, in ms. */
  readonly simulatedMs: number;
  /** The time from healing everything until rest, in ms. */
  readonly toRestMs: number;
}

/**
 * Maximum time, in ms, until nothing is left to do once everything is healed. It is less than the ten minutes that a batch may stay in a
 * queue: a batch that the queue lost must not wait for that.
 */
const REST_WITHIN_MS = 9 * 60_000;
const LOOK_EVERY_MS = 5_000;
/** How long a run is observed at rest, in ms, and the maximum calls of the ledger per minute and sink in that time. */
const AT_REST_MS = 60_000;
const CALLS_A_MINUTE = 120;
const SHRINK_FOR_MS = 30_000;

/** Returns the scenario of a seed. */
function scenarioOf(seed: number): Scenario {
  const [scenario] = fc.sample(scenarios, { seed: mix(seed), numRuns: 1 });
  return scenario as Scenario;
}

/** Runs the scenario of a seed. @throws Violation */
export function runSeed(seed: number, narrate?: (line: string) => void): Promise<Run> {
  return run(scenarioOf(seed), narrate);
}

/** Runs a scenario to its end and judges it. @throws Violation */
async function run(scenario: Scenario, narrate: (line: string) => void = () => undefined): Promise<Run> {
  const world = new World(scenario, narrate);
  const { clock, witness } = world;
  try {
    world.processes.startAll();
    for (const { atMs, action } of scenario.steps) {
      await clock.pass(Math.max(0, atMs - clock.monotonicMs()));
      world.narrate(JSON.stringify(action));
      apply(action, world);
      checkWhole(world);
      if (witness.violation) throw witness.violation;
    }
    await clock.pass(2_000);
    world.heal();
    const toRestMs = await rest(world);
    await staysAtRest(world);
    judgeEnd(world);
    const { attempts, repeats } = witness;
    return {
      attempts,
      repeats,
      deaths: world.processes.deaths,
      leads: world.service.leads,
      simulatedMs: clock.monotonicMs(),
      toRestMs,
    };
  } finally {
    await world.close();
  }
}

/** Advances the time until nothing is pending and everything that is listed has been read. */
async function rest(world: World): Promise<number> {
  const startMs = world.clock.monotonicMs();
  const lookout = new Lookout(world);
  for (;;) {
    await world.clock.pass(LOOK_EVERY_MS);
    if (world.witness.violation) throw world.witness.violation;
    const tookMs = world.clock.monotonicMs() - startMs;
    const { pending, replays, paused, unread } = lookout.look();
    if (pending + replays + paused.length + unread === 0 && world.hasReadAnew) return tookMs;
    if (tookMs > REST_WITHIN_MS) {
      const minutes = REST_WITHIN_MS / 60_000;
      throw new Violation(
        `${minutes} min after everything was healed ${pending} deliveries are pending and ${unread} leads unread`,
      );
    }
    for (const sink of paused) world.resume(sink);
  }
}

/** Checks that almost nothing happens when nothing is left to do. */
async function staysAtRest(world: World): Promise<void> {
  const { attempts } = world.witness;
  const before = world.calls;
  await world.clock.pass(AT_REST_MS);
  const calls = world.calls - before;
  if (world.witness.attempts > attempts) throw new Violation('it made attempts although nothing was pending');
  if (calls > (CALLS_A_MINUTE * (world.scenario.sinks.length + 1) * AT_REST_MS) / 60_000)
    throw new Violation(`at rest it called the ledger ${calls} times in ${AT_REST_MS / 1000} s`);
}

/** Finds a smaller scenario that fails too, and describes how to run it again. */
export async function explain(seed: number, violation: unknown): Promise<string> {
  const { scenario, why } = await smallest(scenarioOf(seed), wordsOf(violation));
  return [
    `Seed ${seed} breaks a promise: ${wordsOf(violation)}.`,
    `Run it again, told step by step: SIMULATION_SEED=${seed} npx vitest run test/simulation`,
    `The smallest run found that breaks one (${why}):`,
    told(scenario),
  ].join('\n');
}

/** Leaves out steps, many at first and then one by one, as long as the rest still fails. */
async function smallest(scenario: Scenario, why: string): Promise<{ scenario: Scenario; why: string }> {
  let found = { scenario, why };
  const untilMs = performance.now() + SHRINK_FOR_MS;
  for (
    let size = Math.ceil(scenario.steps.length / 2);
    size >= 1;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let start = 0; start < found.scenario.steps.length && performance.now() < untilMs; ) {
      const smaller = { ...found.scenario, steps: found.scenario.steps.toSpliced(start, size) };
      const failed = await failureOf(smaller);
      if (failed === undefined) start += size;
      else found = { scenario: smaller, why: failed };
    }
  }
  return found;
}

async function failureOf(scenario: Scenario): Promise<string | undefined> {
  try {
    await run(scenario);
    return undefined;
  } catch (error) {
    return wordsOf(error);
  }
}

function wordsOf(error: unknown): string {
  return error instanceof Violation ? error.message : String(error);
}
