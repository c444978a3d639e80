import { RequestError } from '../../admin/contract/request-error.ts';
import { filesOf } from '../../config/contract/config.ts';
import { isBackup } from '../../exports/contract/options.ts';
import type { Parts } from '../start/compose.ts';

/** What `runExport` works with. */
interface RunParts {
  readonly parts: Pick<Parts, 'role' | 'current' | 'exportStates'>;
  /** Names of the exports and backups to run before they are due. */
  readonly requestedExports: Set<string>;
}

/**
 * Requests a run of a configured export or backup. Returns false if it is running already; undefined if it is not configured.
 * @throws RequestError if this process makes no exports
 */
export async function runExport(
  what: 'export' | 'backup',
  name: string,
  { parts: { role, current, exportStates }, requestedExports }: RunParts,
): Promise<boolean | undefined> {
  const config = filesOf(current.config).find((one) => one.name === name);
  if (config === undefined || isBackup(config) !== (what === 'backup')) return undefined;
  if (role.kind !== 'run')
    throw new RequestError(
      503,
      'no-exports',
      'Nothing was done, because `leadsync sync` makes no scheduled exports or backups.',
      'Run `leadsync export --name` or `leadsync backup` with the name.',
    );
  if (await exportStates.isRunning(name)) return false;
  requestedExports.add(name);
  return true;
}
