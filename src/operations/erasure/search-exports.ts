import { type Config, filesOf } from '../../config/contract/config.ts';
import { ExportFailed } from '../../exports/contract/export-failed.ts';
import type { ExportConfig } from '../../exports/contract/options.ts';
import type { Destination } from '../../exports/destinations/destination.ts';
import { openDestination } from '../../exports/destinations/open-destination.ts';
import type { ExportStates } from '../../exports/export-states.ts';
import { fileContainsAny } from '../../exports/files/contains-lead.ts';
import { removeStagedOfOthers } from '../../exports/staged-files.ts';
import type { Person } from '../../leads/person.ts';
import { codeOf } from '../../platform/failures/error-code.ts';
import { LockHeld } from '../../platform/files/file-lock.ts';
import type { Clock } from '../../platform/time/clock.ts';
import { formerExports } from '../scheduled-exports.ts';
import type { PlaceReport } from './certificate.ts';

/** Maximum wait for a running export, in ms. The export may have read the person's data before the erasure. */
const PATIENCE_MS = 60_000;
const RETRY_MS = 200;

/** What the search works with. The signal ends the wait for a running export and the reading of files. */
export interface SearchParts {
  readonly states: ExportStates;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Searches the files of all scheduled exports for the person, and lists exports and backups that are no longer configured. Removes only what
 * killed runs left behind.
 */
export async function searchExports(
  { exports, backups }: Pick<Config, 'exports' | 'backups'>,
  person: Person,
  parts: SearchParts,
): Promise<PlaceReport[]> {
  const places: PlaceReport[] = [];
  const { states } = parts;
  for (const config of exports) {
    places.push({
      place: config.name,
      type: `export to ${config.target.type}`,
      ...(await searchExport(config, states, person, parts)),
    });
  }
  return [...places, ...(await placesOfFormer(filesOf({ exports, backups }), states))];
}

/** Reports exports and backups that are no longer configured. leadsync does not search their files. */
async function placesOfFormer(
  configured: readonly ExportConfig[],
  states: ExportStates,
): Promise<PlaceReport[]> {
  const { folder } = states;
  const missed = { type: 'export or backup, not configured', reached: false };
  try {
    await removeStagedOfOthers(folder, new Set(configured.map(({ name }) => name)));
    return (await formerExports(configured, states)).map(({ name, place }) => {
      const state = states.placeOf(name);
      const what = place
        ? `Not searched. The last run wrote ${place}. Remove all files that this export or backup wrote, also those of earlier runs, then remove ${state}.`
        : `Not searched. ${state} records where the last run wrote its files, but it cannot be read. Find and remove these files, then remove ${state}.`;
      return { ...missed, place: name, again: false, what };
    });
  } catch (error) {
    const tryAgain = { ...missed, place: 'exports', again: true };
    if (error instanceof ExportFailed) return [{ ...tryAgain, what: `${error.message} ${error.hint}` }];
    const code = codeOf(error);
    if (code === undefined) throw error;
    const what = `${folder} cannot be read (${code}), so leadsync does not know which exports are no longer configured. Allow the user that leadsync runs as to read it, then run this again.`;
    return [{ ...tryAgain, what }];
  }
}

type Found = Pick<PlaceReport, 'reached' | 'again' | 'what' | 'files'>;

async function searchExport(
  config: ExportConfig,
  states: ExportStates,
  person: Person,
  parts: SearchParts,
): Promise<Found> {
  const { name } = config;
  const destination = await openDestination(config, states.folder);
  try {
    const lock = await waitForLock(() => states.lock(name), parts);
    if (!lock)
      return {
        reached: false,
        again: true,
        what: 'The export is running. Run this again when it has finished.',
      };
    try {
      return await searchFiles(destination, person, parts.signal);
    } finally {
      await lock.release();
    }
  } catch (error) {
    if (parts.signal.aborted)
      return { reached: false, again: true, what: 'Stopped before all its files were searched.' };
    if (!(error instanceof ExportFailed)) throw error;
    return { reached: false, again: true, what: `${error.message} ${error.hint}` };
  } finally {
    destination.close();
  }
}

async function searchFiles(destination: Destination, person: Person, signal: AbortSignal): Promise<Found> {
  await destination.tidy(signal);
  const files: string[] = [];
  let unread = 0;
  for (const file of await destination.list(signal)) {
    signal.throwIfAborted();
    const held = await destination
      .read(file, (path) => fileContainsAny(person, path), signal)
      .catch((error: unknown) => {
        if (signal.aborted) throw error;
        return undefined; // reported below as a file that cannot be read; the reason does not matter there
      });
    if (held === undefined) unread += 1;
    if (held !== false)
      files.push(`${destination.nameOf(file)}${held ? '' : ' (cannot be read, and may contain them)'}`);
  }
  if (files.length === 0)
    return { reached: true, again: false, what: 'None of its files contains these leads.' };
  const what =
    unread === 0
      ? 'Its files are left as they are; these contain the leads.'
      : 'Its files are left as they are; these contain the leads, or may contain them.';
  return { reached: false, again: false, what, files };
}

async function waitForLock(
  lock: () => ReturnType<ExportStates['lock']>,
  { clock, signal }: SearchParts,
): Promise<Awaited<ReturnType<ExportStates['lock']>> | undefined> {
  for (const startMs = clock.monotonicMs(); ; await clock.sleep(RETRY_MS, signal)) {
    signal.throwIfAborted();
    try {
      return await lock();
    } catch (error) {
      if (!(error instanceof LockHeld)) throw error;
      if (clock.monotonicMs() - startMs > PATIENCE_MS) return undefined;
    }
  }
}
