import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expectNoCanary } from '../support/canary.ts';
import { type Account, accountOf, faultsOf } from '../support/oracle.ts';
import { type CarrierName, SINKS } from '../support/scene.ts';
import type { Deed } from './deed.ts';
import { drawPlan, type Plan } from './plan.ts';
import { CANARIES, openWorld, type World } from './world.ts';

/** How a run went. */
export interface RunResult {
  readonly seed: number;
  readonly carrier: CarrierName;
  readonly seconds: number;
  readonly account: Account;
  /** leadsync processes that were ended by SIGKILL, at failpoints or from outside. */
  readonly kills: number;
  /** Deliveries that were dead when everything was healed, and were then retried. */
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

/** Within this time after the last trouble everything has to be delivered, in s: a held sink is probed every minute. */
const REST_WITHIN_S = 150;
/** More than this no leadsync process may hold, in MB. */
const MEMORY_MB = 350;
const LAST_LEADS = 25;

/** Plays the run that a seed names, heals everything, waits for rest, and takes the account. */
export async function playRun({ seed, carrier, seconds, say, signal }: RunOptions): Promise<RunResult> {
  const plan = drawPlan(seed, carrier, seconds);
  const startMs = performance.now();
  const tell = (part: string, text: string) =>
    say(`${((performance.now() - startMs) / 1000).toFixed(1).padStart(6)}  ${part.padEnd(13)}  ${text}`);
  const world = await openWorld(plan, carrier, tell);
  let kept = true;
  try {
    const measuring = setInterval(() => measure(world), 500);
    await perform(plan, world, tell, signal);
    const healed = await healAndRest(plan, world, tell, signal);
    clearInterval(measuring);
    const { daemon, worker } = world.parts;
    const peakMb = Math.max(daemon.peakMb, worker.peakMb);
    const faults = [
      ...world.faults(),
      ...healed.faults,
      ...faultsOf(healed.account, { repeats: true }),
      ...wrongReplays(world, healed.account),
      ...shownData(world),
      ...(peakMb > MEMORY_MB ? [`a leadsync process held ${Math.round(peakMb)} MB`] : []),
    ];
    kept = faults.length > 0;
    if (kept) keepRecord(world, healed.account);
    return {
      seed,
      carrier,
      seconds,
      account: healed.account,
      kills: daemon.kills + worker.kills,
      died: healed.died,
      healedSeconds: healed.seconds,
      peakMb,
      faults,
      kept: kept ? world.folder : undefined,
    };
  } finally {
    await world.close(kept && !signal.aborted);
  }
}

function measure({ parts }: World): void {
  parts.daemon.measure();
  parts.worker.measure();
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
  await Promise.all([
    lane('service', parts.service, lanes.service),
    lane('receiver', parts.receiver, lanes.receiver),
    lane('drop folder', parts['drop folder'], lanes['drop folder']),
    lane("ledger's disk", parts["ledger's disk"], lanes["ledger's disk"]),
    lane('postgres', parts.postgres, lanes.postgres),
    ...(parts.redis ? [lane('redis', parts.redis, lanes.redis)] : []),
    lane('daemon', parts.daemon, lanes.daemon),
    lane('worker', parts.worker, lanes.worker),
    lane('operator', parts.operator, lanes.operator),
  ]);
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

/** Heals everything, and waits until nothing is owed; then retries the dead, and waits again. */
async function healAndRest(
  plan: Plan,
  world: World,
  tell: (part: string, text: string) => void,
  signal: AbortSignal,
) {
  const { daemon, worker, operator, service } = world.parts;
  await world.heal();
  const startMs = performance.now();
  tell('all', 'everything is healed');
  daemon.calm();
  worker.calm();
  await worker.end('SIGTERM');
  if (!plan.healRunning || !daemon.sound) await daemon.end('SIGTERM');
  daemon.start();
  service.addLeads(LAST_LEADS);
  for (const sink of SINKS) await resumeIfPaused(world, sink);
  let account = await rest(world, signal);
  const seconds = isAtRest(account) ? (performance.now() - startMs) / 1000 : undefined;
  const died = SINKS.reduce((sum, sink) => sum + account.sinks[sink].dead.length, 0);
  if (died > 0) {
    tell('operator', `retries ${died} dead deliveries`);
    await operator.run('retry', '--state', 'dead');
    account = await rest(world, signal);
  }
  await daemon.end('SIGTERM');
  const dead = SINKS.filter((sink) => account.sinks[sink].dead.length > 0);
  const faults = [
    ...(seconds === undefined ? [`not at rest ${REST_WITHIN_S} s after everything was healed`] : []),
    ...dead.map((sink) => `${sink}: ${account.sinks[sink].dead.length} still dead after a retry`),
  ];
  return { account: await accountOf(world.scene, { raw: CANARIES }), seconds, died, faults };
}

/** A receiver that said 410, or an operator, has paused it: only an operator can end that. */
async function resumeIfPaused({ scene, parts }: World, sink: string): Promise<void> {
  const { stdout } = await scene.run('status', '--json');
  const { sinks } = JSON.parse(stdout) as { sinks: { sink: string; paused_since: string | null }[] };
  if (sinks.some((one) => one.sink === sink && one.paused_since)) await parts.operator.run('resume', sink);
}

/** Waits until the account is one of a leadsync at rest, for a bounded time. Gives the last account. */
async function rest({ scene }: World, signal: AbortSignal): Promise<Account> {
  const deadline = performance.now() + REST_WITHIN_S * 1000;
  for (;;) {
    await sleep(250, undefined, { signal });
    const late = performance.now() > deadline;
    if (
      !late &&
      (scene.served().length < scene.stub.shown - CANARIES.length || (await isOwing(scene.adminUrl)))
    )
      continue;
    const account = await accountOf(scene, { raw: CANARIES });
    if (late || isAtRest(account)) return account;
  }
}

function isAtRest({ sinks }: Account): boolean {
  return SINKS.every((sink) => {
    const { pending, lost, stale } = sinks[sink];
    return pending.length + lost.length + stale.length === 0;
  });
}

/** Whether the daemon says that something is pending, or does not answer. */
async function isOwing(adminUrl: string): Promise<boolean> {
  try {
    const metrics = await (await fetch(`${adminUrl}/metrics`, { signal: AbortSignal.timeout(2_000) })).text();
    return (
      !/^leadsync_backlog_pending\{.*\} 0$/m.test(metrics) ||
      /^leadsync_backlog_pending\{.*\} [1-9]/m.test(metrics)
    );
  } catch {
    // It has only just been started.
    return true;
  }
}

/** Each replay that was asked for is there once, or was given up (a newer content came before it); and no other. */
function wrongReplays({ parts }: World, account: Account): string[] {
  const { replayed, maybeReplayed } = parts.operator;
  const count = (list: readonly string[], what: string) => list.filter((one) => one === what).length;
  return (['crm', 'drop'] as const).flatMap((sink) => {
    const { replayed: held, notReplayed } = account.sinks[sink];
    const leads = new Set([...held, ...replayed.map((one) => one.split(' ')[1] ?? '')]);
    return [...leads].flatMap((lead) => {
      const asked = count(replayed, `${sink} ${lead}`);
      const most = asked + count(maybeReplayed, `${sink} ${lead}`);
      const there = count(held, lead);
      if (there + count(notReplayed, lead) >= asked && there <= most) return [];
      return [`${sink}: ${asked} replays of ${lead} were asked for, and ${there} are there`];
    });
  });
}

/** Nothing that leadsync writes for its operators may hold what a person typed. */
function shownData({ parts }: World): string[] {
  return [parts.daemon, parts.worker, parts.operator].flatMap((part) => {
    try {
      expectNoCanary(part.written, 'the output');
      return [];
    } catch (error) {
      return [error instanceof Error ? error.message : String(error)];
    }
  });
}

/** What whoever looks for the cause will want, beside the ledger and the logs. */
function keepRecord({ folder, scene }: World, account: Account): void {
  const write = (name: string, value: unknown) =>
    writeFileSync(join(folder, 'record', `${name}.json`), JSON.stringify(value, undefined, 1));
  mkdirSync(join(folder, 'record'));
  // Their own file systems go with the run.
  for (const name of ['data', 'drop'])
    cpSync(join(folder, name), join(folder, 'record', name), { recursive: true, dereference: true });
  write('account', account);
  write(
    'served',
    scene.stub.served.ids().map((id) => ({ id, versions: scene.stub.served.versions(id) })),
  );
  write(
    'received',
    scene.receiver.received.map(({ at, status, headers, body }) => ({
      at,
      status,
      id: headers['webhook-id'],
      leads: [...body.toString().matchAll(/"data":\{"id":(\d+)/g)].map(([, id]) => id),
    })),
  );
}
