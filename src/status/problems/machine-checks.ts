import { workOf } from '../../leads/duty-words.ts';
import type { MachinesStatus, ProcessRow } from '../../ledger/contract/status-rows.ts';
import { DUTY_LEASE_MS } from '../../ledger/rules/machines/lease-times.ts';
import { countOf, printLength, printMomentAndAge } from '../../platform/text/human-readable.ts';
import { type Problem, problem, type TextOptions } from './problem.ts';

/** The problems of machines that work on one ledger, which status, pages and alerts share. */

/** Time for which a duty may be free, in ms: as long as it takes to find that a process is dead, and to take its duties. */
const FREE_MS = 2 * DUTY_LEASE_MS;
/** How far the clock of a machine may be from the ledger's, in ms. A beat may take a few seconds. */
const CLOCK_MS = 30_000;
/** Roles whose processes work continuously; a `sync` takes and leaves its duties as it runs. */
const LASTING = ['run', 'worker'];

/**
 * Finds duties that no process has for longer than two leases, although a living process would take them or the configuration needs them. Finds none if no
 * `run` or `worker` lives, which is another problem.
 */
export function freeDuties(
  { processes, free }: MachinesStatus,
  sources: readonly string[],
  at: Date,
  options: TextOptions,
): Problem | undefined {
  if (!processes.some(({ isMissing, role }) => !isMissing && LASTING.includes(role))) return undefined;
  const needed = ['upkeep', ...sources.map((source) => `poll:${source}`)];
  const found = free.filter(
    ({ duty, since, isWanted }) =>
      (isWanted || needed.includes(duty)) && at.getTime() - since.getTime() > FREE_MS,
  );
  if (found.length === 0) return undefined;
  const what = found.map(({ duty, since }) => `${workOf(duty)}${sinceText(since, options)}`).join(', ');
  const { command } = options;
  return problem(
    'duty_free',
    null,
    `No process does this work: ${what}.`,
    found.some(({ isWanted }) => isWanted)
      ? `A process that would do it lives, so it may be stuck: see its log, or restart it.`
      : `${command('run')} with these sources must run on at least one machine; ${command('worker')} only delivers.`,
  );
}

/** Finds processes that were killed, are frozen or are cut off. */
export function missingProcesses({ processes }: MachinesStatus, options: TextOptions): Problem | undefined {
  const missing = processes.filter(({ isMissing }) => isMissing);
  if (missing.length === 0) return undefined;
  const names = missing.map((one) => `${nameOf(one)}${seenText(one.seenAt, options)}`).join(', ');
  return problem(
    'process_missing',
    null,
    `${countOf(missing.length, 'process', 'processes')} ended without stopping in order, or cannot reach the ledger: ${names}. The others have taken the work over.`,
    `Start leadsync there again, or see why it does not reach the server. If the machine is not coming back, no action is needed: this warning ends 10 minutes after it was last seen.`,
  );
}

/** Finds living processes of one version that have different configurations. Two versions may have different defaults. */
export function differingConfigs(
  { processes }: MachinesStatus,
  { command }: TextOptions,
): Problem | undefined {
  const living = processes.filter(({ isMissing, facts }) => !isMissing && facts !== undefined);
  const versions = Map.groupBy(living, ({ facts }) => facts?.version);
  for (const alike of versions.values()) {
    const groups = [...Map.groupBy(alike, ({ facts }) => facts?.config).values()];
    if (groups.length < 2) continue;
    const names = groups.map((group) => group.map(nameOf).join(' and ')).join('; another: ');
    return problem(
      'config_differs',
      null,
      `Not all machines have the same configuration. One is that of ${names}.`,
      `Give all machines the same file, then ${command('reload --all')}; an option that needs a restart needs one on each machine.`,
    );
  }
  return undefined;
}

/** Finds living processes whose machine has a clock that is far from the ledger's. */
export function wrongClocks({ processes }: MachinesStatus): Problem | undefined {
  const wrong = processes.flatMap((one) =>
    !one.isMissing && one.facts && Math.abs(one.facts.clockAheadMs) > CLOCK_MS
      ? [{ name: nameOf(one), ms: one.facts.clockAheadMs }]
      : [],
  );
  if (wrong.length === 0) return undefined;
  const names = wrong.map(
    ({ name, ms }) => `${name} (${printLength(Math.abs(ms))} ${ms > 0 ? 'ahead' : 'behind'})`,
  );
  return problem(
    'clock_differs',
    null,
    `The clock of a machine is far from the clock of the ledger's server: ${names.join(', ')}.`,
    'Synchronise the clocks with NTP; if all machines are named, check the clock of the server. leadsync goes by the server, so no lead is lost, but cron schedules, access tokens and logins go by the machine.',
  );
}

/** Returns the name of a process in messages: its role and its machine. */
function nameOf({ role, machine }: Pick<ProcessRow, 'role' | 'machine'>): string {
  return `\`${role}\` on ${machine}`;
}

function sinceText(since: Date, { now }: TextOptions): string {
  return now ? `, since ${printMomentAndAge(since, now)}` : '';
}

function seenText(seenAt: Date, { now }: TextOptions): string {
  return now ? `, last seen ${printMomentAndAge(seenAt, now)}` : '';
}
