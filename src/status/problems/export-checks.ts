import { isDueNow, printAge, printMinute, printMomentAndAge } from '../../platform/text/human-readable.ts';
import type { FileRuns } from '../export-view.ts';
import { type Problem, problem, sentenceOf, type TextOptions } from './problem.ts';

/** Finds a scheduled export or backup that failed, or a backup that is overdue. `isRetried` says whether a running leadsync tries again. */
export function failedFiles(
  { name, isBackup, overdueSince, done, failed: failure }: FileRuns,
  isRetried: boolean,
  { command, now }: TextOptions,
): Problem | undefined {
  const [what, code, words] = isBackup
    ? (['Backup', 'backup_fails', `backup ${name}`] as const)
    : (['Export', 'export_fails', `export --name ${name}`] as const);
  if (!failure) {
    if (!isBackup || !overdueSince) return undefined;
    return problem(
      code,
      name,
      `Backup ${name} has been overdue since ${now ? printMomentAndAge(overdueSince, now) : printMinute(overdueSince)}.`,
      `${command(words)} makes it now. The log of leadsync shows whether an earlier run is still in progress.`,
    );
  }
  const { message, hint, times, retryAt } = failure;
  const made = done && (now ? printMomentAndAge(done.startedAt, now) : printMinute(done.startedAt));
  const failed = times === 1 ? 'failed' : `failed ${times} times in a row`;
  const when = now ? printAge(retryAt, now) : 'automatically, at least once an hour';
  const again = isRetried && !(now && isDueNow(retryAt, now)) ? [`leadsync retries it ${when}`] : [];
  return problem(
    code,
    name,
    `${what} ${name} ${failed}, and ${made ? `the last success was ${made}` : 'it has never succeeded'}: ${message}`,
    `${hint} ${sentenceOf([...again, `${command(words)} runs it now`])}`,
    `${hint} ${sentenceOf(again)}`.trim(),
  );
}
