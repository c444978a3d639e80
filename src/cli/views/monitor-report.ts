import { countOf } from '../../platform/text/human-readable.ts';
import { printable } from '../../platform/text/printable.ts';
import type { Problem } from '../../status/problems/problem.ts';
import { problemLines } from './status-report.ts';

/**
 * States of a monitored service with their exit codes, as Nagios, Icinga, Sensu and Consul read them (Monitoring Plugins Development
 * Guidelines, "Plugin Return Codes").
 */
const CHECK_CODES = { OK: 0, WARNING: 1, CRITICAL: 2, UNKNOWN: 3 } as const;

/** The result of `status --check`. */
export interface MonitorReport {
  /** Begins with a line that a monitor shows as the state of leadsync. */
  readonly text: string;
  readonly exitCode: number;
}

/** Returns the state of leadsync for a monitor: that of the worst problem. Further lines contain every problem with its next step. */
export function monitorReport(problems: readonly Problem[], faults: readonly string[]): MonitorReport {
  const isCritical = problems.some(({ severity }) => severity === 'critical');
  const messages = [
    ...problems.map(({ message }) => message),
    ...(faults.length > 0 ? [`The configuration has ${countOf(faults.length, 'fault')}.`] : []),
  ];
  const [first = 'Nothing needs attention.', ...others] = messages;
  const more = others.length > 0 ? ` (and ${countOf(others.length, 'more problem')})` : '';
  const state = isCritical ? 'CRITICAL' : messages.length > 0 ? 'WARNING' : 'OK';
  const details = [...problems.flatMap(problemLines), ...faults];
  return report(state, [`${printable(first)}${more}`, ...details]);
}

/** Returns the report for a monitor if the state cannot be read, with the reason. */
export function unknownReport(reason: string): MonitorReport {
  return report('UNKNOWN', reason.split('\n').map(printable));
}

function report(state: keyof typeof CHECK_CODES, [first, ...details]: readonly string[]): MonitorReport {
  return {
    text: [`${state}: ${first}`, ...details].map((line) => `${line}\n`).join(''),
    exitCode: CHECK_CODES[state],
  };
}
