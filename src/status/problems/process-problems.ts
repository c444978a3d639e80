import { countOf, printBytes, printLength, printMomentAndAge } from '../../platform/text/human-readable.ts';
import {
  type DiskSpace,
  isSince,
  type Problem,
  problem,
  type StaleConfig,
  type TextOptions,
} from './problem.ts';

/** The problems of leadsync as a whole, which status, pages and alerts share. */

/** Finds a disk that has too little free space. */
export function lowDisk({ freeBytes, minFreeBytes, change }: DiskSpace): Problem | undefined {
  if (freeBytes === undefined || freeBytes >= minFreeBytes) return undefined;
  return problem(
    'disk_low',
    null,
    `The disk of the data directory has ${printBytes(freeBytes)} of free space, less than ${printBytes(minFreeBytes)} (\`ledger.min_free\`).${changePart(freeBytes, change)}`,
    'Free space, or enlarge the disk: when it is full, leadsync neither polls nor delivers. `retention` limits the growth of the ledger; `keep` limits that of exports and backups.',
  );
}

/** Returns how much of the space was used lately, and how long the rest lasts at that rate. */
function changePart(freeBytes: number, change: DiskSpace['change']): string {
  if (!change) return '';
  const { lostBytes, overMs } = change;
  const period = `in the last ${printLength(overMs)}`;
  if (lostBytes <= 0) return ` The free space has not shrunk ${period}.`;
  const left = printLength((freeBytes / lostBytes) * overMs);
  return ` It shrank by ${printBytes(lostBytes)} ${period}; at that rate, the disk is full in ${left}.`;
}

/** Maximum number of configuration faults in one message. */
const MAX_FAULTS = 3;

/**
 * Returns the problem that the configuration file is not valid or could not be applied, while an earlier configuration stays in force. Each fault names its place in a file, and
 * may name a variable, so a text without `namesOrigins` only counts them.
 */
export function staleConfig(stale: StaleConfig, options: TextOptions): Problem {
  const { command, now } = options;
  if (stale.failure !== undefined)
    return problem(
      'config_stale',
      null,
      `leadsync keeps an earlier configuration in force: the file is valid, but could not be applied${now ? ` since ${printMomentAndAge(stale.since, now)}` : ''}: ${stale.failure}`,
      `${command('reload')} applies the file once the cause is fixed.`,
    );
  return problem(
    'config_stale',
    null,
    `leadsync keeps an earlier configuration in force: the file ${isSince('invalid', stale.since, options)}${faultsPart(stale, options)}`,
    `${command('validate')} shows every fault; ${command('reload')} applies the file once they are fixed.`,
  );
}

function faultsPart({ faults }: StaleConfig, { namesOrigins = false }: TextOptions): string {
  if (faults.length === 0) return '.';
  return namesOrigins
    ? `: ${faults.slice(0, MAX_FAULTS).join('; ')}`
    : `. It has ${countOf(faults.length, 'fault')}.`;
}
