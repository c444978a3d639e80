import { setTimeout as sleep } from 'node:timers/promises';
import type { Account } from '../support/scene/oracle.ts';
import type { CarrierName } from '../support/scene/scene.ts';
import type { Deed } from './deed.ts';
import { healAndRest } from './healing.ts';
import { keepRecord } from './keep-record.ts';
import { drawPlan, type Plan } from './plan.ts';
import { brokenPromises } from './promises.ts';
import type { Repeats } from './repeats.ts';
import { openWorld, type World } from './world.ts';

/** How a run went. */
export interface RunResult {
  readonly seed: number;
  readonly carrier: CarrierName;
  readonly seconds: number;
  readonly account: Account;
  /** What the webhook was given more than once. */
  readonly repeats: Repeats;
  /** leadsync processes that were ended by SIGKILL, at failpoints or from outside. */
  readonly kills: number;
  /** How often a delivery died; whoever is at the command line retries it. */
  readonly died: number;
  /** From the end of the last trouble until nothing was owed any more; undefined when that did not come. */
  readonly healedSeconds: number | undefined;
  /** The most memory that a leadsync process held, in MB. */
  readonly peakMb: number;
  /** What broke the promise. Empty: nothing did. */
  readonly faults: readonly string[];
  /** Where the ledger, the logs and the record of what was served are kept; undefined when all was well. */
  readonly kept: string | undefined;
}

export interface RunOptions {
  readonly seed: number;
  readonly carrier: CarrierName;
  readonly seconds: number;
  /** Told each thing that is done, when it is done. */
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

/** How often it is looked what leadsync holds and has dropped, in ms. */
const LOOK_MS = 200;

/** Plays the run that a seed names, heals everything, waits for rest, and takes the account. */
export async function playRun({ seed, carrier, seconds, say, signal }: RunOptions): Promise<RunResult> {
  const plan = drawPlan(seed, carrier, seconds);
  const startMs = performance.now();
  const tell = (part: string, text: string) =>
    say(`${((performance.now() - startMs) / 1000).toFixed(1).padStart(6)}  ${part.padEnd(13)}  ${text}`);
  const world = await openWorld(plan, carrier, tell);
  let kept = true;
  const measuring = setInterval(() => look(world), LOOK_MS);
  try {
    await perform(plan, world, tell, signal);
    const healed = await healAndRest(plan, world, tell, signal);
    const faults = brokenPromises(world, healed);
    kept = faults.length > 0;
    if (kept) keepRecord(world, healed.account);
    const { daemon, worker } = world.parts;
    return {
      seed,
      carrier,
      seconds,
      account: healed.account,
      repeats: world.repeats(),
      kills: daemon.kills + worker.kills,
      died: daemon.count('delivery-dead') + worker.count('delivery-dead'),
      healedSeconds: healed.seconds,
      peakMb: Math.max(daemon.peakMb, worker.peakMb),
      faults,
      kept: kept ? world.folder : undefined,
    };
  } finally {
    clearInterval(measuring);
    await world.close(kept && !signal.aborted);
  }
}

function look({ parts, reader }: World): void {
  parts.daemon.measure();
  parts.worker.measure();
  reader.look();
}

/** Does to each part what the plan has for it, each in its own time. */
async function perform(
  plan: Plan,
  { parts }: World,
  tell: (part: string, text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const startMs = performance.now();
  const lane = async <Part>(name: string, part: Part, deeds: readonly Deed<Part>[]) => {
    for (const deed of deeds) {
      await sleep(Math.max(0, startMs + deed.atMs - performance.now()), undefined, { signal });
      tell(name, deed.text + (await remarkOf(deed, part)));
    }
  };
  const { lanes } = plan;
  // What is under way when the run is stopped has to end before its parts are closed.
  await Promise.allSettled([
    lane('service', parts.service, lanes.service),
    ...(parts['other service']
      ? [lane('other service', parts['other service'], lanes['other service'])]
      : []),
    lane('receiver', parts.receiver, lanes.receiver),
    lane('drop folder', parts['drop folder'], lanes['drop folder']),
    lane("ledger's disk", parts["ledger's disk"], lanes["ledger's disk"]),
    lane('postgres', parts.postgres, lanes.postgres),
    ...(parts.redis ? [lane('redis', parts.redis, lanes.redis)] : []),
    lane('daemon', parts.daemon, lanes.daemon),
    lane('worker', parts.worker, lanes.worker),
    lane('operator', parts.operator, lanes.operator),
  ]);
  signal.throwIfAborted();
}

/** Does it. What cannot be done now (a server that is down cannot be asked to) is said and left. */
async function remarkOf<Part>(deed: Deed<Part>, part: Part): Promise<string> {
  try {
    const remark = await deed.act(part);
    return typeof remark === 'string' ? ` (${remark})` : '';
  } catch (error) {
    return ` (not done: ${error instanceof Error ? error.message.split('\n')[0] : error})`;
  }
}
