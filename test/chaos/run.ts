import { setTimeout as sleep } from 'node:timers/promises';
import type { Account } from '../support/scene/oracle.ts';
import type { CarrierName } from '../support/scene/scene.ts';
import type { Deed } from './deed.ts';
import { healAndRest } from './healing.ts';
import { keepRecord } from './keep-record.ts';
import { partName, processesOf } from './machine.ts';
import { drawPlan, type Plan, type Setting } from './plan.ts';
import { brokenPromises } from './promises.ts';
import type { Repeats } from './repeats.ts';
import { openWorld, type World } from './world.ts';

/** The result of a run. */
export interface RunResult {
  readonly seed: number;
  readonly carrier: CarrierName;
  readonly setting: Setting;
  readonly seconds: number;
  /** The name of the run's own destination. */
  readonly destination: string;
  readonly account: Account;
  /** What the webhook received more than once. */
  readonly repeats: Repeats;
  /** Number of leadsync processes that SIGKILL ended, by failpoints or from outside. */
  readonly kills: number;
  /** Number of leads in each CRM. */
  readonly inCrms: Readonly<Record<string, number>>;
  /** Number of deliveries that died; the operator retries them. */
  readonly died: number;
  /** The time from the end of the last trouble until nothing was owed, in s; undefined if that did not happen. */
  readonly healedSeconds: number | undefined;
  /** The peak memory of a leadsync process, in MB. */
  readonly peakMb: number;
  /** The broken promises; empty if there are none. */
  readonly faults: readonly string[];
  /** The folder with the ledger, the logs and the record of what was served; undefined if no promise was broken. */
  readonly kept: string | undefined;
}

export interface RunOptions {
  readonly seed: number;
  readonly carrier: CarrierName;
  readonly setting: Setting;
  readonly seconds: number;
  /** Number of CRMs. */
  readonly crms: number;
  /** Called with each action when it is performed. */
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

/** The interval at which memory and dropped files are checked, in ms. */
const LOOK_MS = 200;

/** Plays the run of a seed, heals everything, waits for rest, and takes the account. */
export async function playRun(options: RunOptions): Promise<RunResult> {
  const { seed, carrier, setting, seconds, crms, say, signal } = options;
  const plan = drawPlan(seed, carrier, seconds, crms, setting);
  const startMs = performance.now();
  const tell = (part: string, text: string) =>
    say(`${((performance.now() - startMs) / 1000).toFixed(1).padStart(6)}  ${part.padEnd(13)}  ${text}`);
  const world = await openWorld(plan, carrier, setting, tell);
  let kept = true;
  const measuring = setInterval(() => look(world), LOOK_MS);
  try {
    await perform(plan, world, tell, signal);
    const healed = await healAndRest(plan, world, tell, signal);
    const faults = await brokenPromises(world, healed);
    kept = faults.length > 0;
    if (kept) await keepRecord(world, healed.account);
    const { machines, CRMs } = world.parts;
    const processes = processesOf(machines);
    const sum = (of: (process: (typeof processes)[number]) => number) =>
      processes.reduce((total, process) => total + of(process), 0);
    return {
      seed,
      carrier,
      setting,
      seconds,
      destination: plan.destination,
      account: healed.account,
      repeats: await world.repeats(),
      kills: sum(({ kills }) => kills),
      inCrms: CRMs.counts(),
      died: sum((process) => process.count('delivery-dead')),
      healedSeconds: healed.seconds,
      peakMb: Math.max(...processes.map(({ peakMb }) => peakMb)),
      faults,
      kept: kept ? world.folder : undefined,
    };
  } finally {
    clearInterval(measuring);
    await world.close(kept && !signal.aborted);
  }
}

function look({ parts, reader }: World): void {
  for (const process of processesOf(parts.machines)) process.measure();
  reader.look();
}

/** Performs the plan's actions on each part, each at its time. */
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
  // Actions in progress when the run is stopped must end before their parts are closed.
  await Promise.allSettled([
    lane('service', parts.service, lanes.service),
    ...(parts['other service']
      ? [lane('other service', parts['other service'], lanes['other service'])]
      : []),
    lane('receiver', parts.receiver, lanes.receiver),
    lane('split receivers', parts['split receivers'], lanes['split receivers']),
    lane('drop folder', parts['drop folder'], lanes['drop folder']),
    lane('bucket', parts.bucket, lanes.bucket),
    lane('CRMs', parts.CRMs, lanes.CRMs),
    lane('destination', parts.destination, lanes.destination),
    lane("ledger's disk", parts["ledger's disk"], lanes["ledger's disk"]),
    lane('postgres', parts.postgres, lanes.postgres),
    ...(parts.redis ? [lane('redis', parts.redis, lanes.redis)] : []),
    ...(parts["ledger's server"]
      ? [lane("ledger's server", parts["ledger's server"], lanes["ledger's server"])]
      : []),
    ...plan.machines.flatMap((planned, index) => {
      const machine = parts.machines[index];
      if (!machine) return [];
      const name = (kind: string) => partName(kind, index + 1);
      return [
        lane(name('daemon'), machine.daemon, planned.daemon),
        lane(name('worker'), machine.worker, planned.worker),
        ...(machine.line ? [lane(name("ledger's line"), machine.line, planned.line)] : []),
      ];
    }),
    lane('operator', parts.operator, lanes.operator),
    lane('configuration', parts.configuration, lanes.configuration),
  ]);
  signal.throwIfAborted();
}

/** Performs an action. Reports and skips one that is impossible now, such as a command to a server that is down. */
async function remarkOf<Part>(deed: Deed<Part>, part: Part): Promise<string> {
  try {
    const remark = await deed.act(part);
    return typeof remark === 'string' ? ` (${remark})` : '';
  } catch (error) {
    return ` (not done: ${error instanceof Error ? error.message.split('\n')[0] : error})`;
  }
}
