import { InvalidArgumentError } from 'commander';

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const DURATION = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;
const DATE = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)(Z|[+-]\d{2}:?\d{2})?)?$/i;

/** What `--since` and `--until` take, for the help. */
export const MOMENT_HELP = 'a date or date-time (UTC unless it says otherwise), or how long ago: 2h, 1d';

/**
 * Reads a moment: `2026-11-20`, `2026-11-20T10:30`, `2026-11-20T10:30:00+11:00`, or a duration back from now.
 * Without an offset it is UTC, as everything that leadsync shows. @throws InvalidArgumentError
 */
export function readMoment(text: string, now: Date): Date {
  const at = readDuration(text, now) ?? readDate(text);
  if (at === undefined || Number.isNaN(at.getTime()))
    throw new InvalidArgumentError(`Write ${MOMENT_HELP}; such as 2026-11-20 or 2026-11-20T10:30.`);
  return at;
}

function readDuration(text: string, now: Date): Date | undefined {
  const [, count, unit] = DURATION.exec(text) ?? [];
  if (count === undefined) return undefined;
  return new Date(now.getTime() - Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS]);
}

function readDate(text: string): Date | undefined {
  const [, day, time = '00:00', zone = 'Z'] = DATE.exec(text) ?? [];
  // A Date rolls 30 February over into March; here it is a mistake.
  if (day === undefined || Number.isNaN(Date.parse(day)) || new Date(day).toISOString().slice(0, 10) !== day)
    return undefined;
  return new Date(`${day}T${time}${zone.toUpperCase()}`);
}
