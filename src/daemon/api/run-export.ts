import type { ExportPreview } from '../../admin/contract/operations.ts';
import { RequestError } from '../../admin/contract/request-error.ts';
import { type Config, filesOf } from '../../config/contract/config.ts';
import { ExportFailed } from '../../exports/contract/export-failed.ts';
import { type ExportConfig, isBackup } from '../../exports/contract/options.ts';
import { removedByExport } from '../../operations/removed-by-export.ts';
import type { Parts } from '../start/parts.ts';

/** Maximum time for listing the destination of an export, in ms. */
const LISTING_MS = 5_000;

/** What `runExport` works with. */
interface RunParts {
  readonly parts: Pick<Parts, 'role' | 'current' | 'exportStates'> & { readonly shared?: Parts['shared'] };
  /** Names of the exports and backups that were requested or run now. */
  readonly exportsUnderway: Set<string>;
}

/**
 * Requests a run of a configured export or backup, of the process that makes them. Returns false if it is running or was requested already; undefined if it is not configured.
 * @throws RequestError if this process makes no exports
 */
export async function runExport(
  what: 'export' | 'backup',
  name: string,
  { parts: { role, current, exportStates, shared }, exportsUnderway }: RunParts,
): Promise<boolean | undefined> {
  if (configured(what, name, current.config) === undefined) return undefined;
  if (role.kind !== 'run')
    throw new RequestError(
      503,
      'no-exports',
      'Nothing was done, because `leadsync sync` makes no scheduled exports or backups.',
      'Run `leadsync export --name` or `leadsync backup` with the name.',
    );
  const isRunning = await exportStates.isRunning(name); // in another process
  if (isRunning || exportsUnderway.has(name)) return false;
  if (shared && !shared.duties.holds('exports')) void shared.machines.tell({ kind: 'export', name });
  else exportsUnderway.add(name);
  return true;
}

/** Returns what a run of a configured export or backup would remove now; undefined if it is not configured. */
export async function previewExport(
  what: 'export' | 'backup',
  name: string,
  { current, clock, exportStates }: Pick<Parts, 'current' | 'clock' | 'exportStates'>,
): Promise<ExportPreview | undefined> {
  const config = configured(what, name, current.config);
  if (config === undefined) return undefined;
  const keep = config.keep ?? null;
  const signal = AbortSignal.timeout(LISTING_MS);
  try {
    const request = { folder: exportStates.folder, now: clock.now(), signal };
    return { keep, removed: await removedByExport(config, request), unknown: null };
  } catch (error) {
    if (error instanceof ExportFailed) return { keep, removed: [], unknown: error.message };
    if (signal.aborted) return { keep, removed: [], unknown: 'The destination did not answer in time.' };
    throw error;
  }
}

function configured(
  what: 'export' | 'backup',
  name: string,
  config: Pick<Config, 'exports' | 'backups'>,
): ExportConfig | undefined {
  return filesOf(config).find((one) => one.name === name && isBackup(one) === (what === 'backup'));
}
