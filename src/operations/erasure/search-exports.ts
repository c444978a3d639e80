import { join } from 'node:path';
import type { Config } from '../../config/contract/config.ts';
import { ExportFailed } from '../../exports/contract/export-failed.ts';
import type { ExportConfig } from '../../exports/contract/options.ts';
import type { Destination } from '../../exports/destinations/destination.ts';
import { openDestination } from '../../exports/destinations/open-destination.ts';
import { lockExport } from '../../exports/export-lock.ts';
import { ExportStates } from '../../exports/export-states.ts';
import { holdsAnyOf } from '../../exports/files/holding.ts';
import { removeStagedOfOthers } from '../../exports/staged.ts';
import type { Person } from '../../leads/person.ts';
import { codeOf } from '../../platform/failures/error-code.ts';
import { disk } from '../../platform/files/files.ts';
import { LockHeld } from '../../platform/files/lock.ts';
import type { Clock } from '../../platform/time/clock.ts';
import { formerExports } from '../scheduled-exports.ts';
import type { PlaceReport } from './certificate.ts';

/** How long is waited for an export that is under way, in ms: it may have read the person before the erasure. */
const PATIENCE_MS = 60_000;
const RETRY_MS = 200;

/** For the wait for an export that is being made. The signal ends that, and the reading of files. */
export interface SearchParts {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Looks into everything that scheduled exports have made, tells what still holds the person, and names those that are not configured any more. Removes leftovers of killed runs, and nothing else. */
export async function searchExports(
  { exports, dataDir }: Pick<Config, 'exports' | 'dataDir'>,
  person: Person,
  parts: SearchParts,
): Promise<PlaceReport[]> {
  const places: PlaceReport[] = [];
  const states = new ExportStates(disk, dataDir);
  const { folder } = states;
  for (const config of exports) {
    places.push({
      place: config.name,
      type: `export to ${config.target.type}`,
      ...(await searchExport(config, folder, person, parts)),
    });
  }
  return [...places, ...(await placesOfFormer(exports, states))];
}

/** Nobody looks into these: an erasure names them, and what it cannot find out of them. */
async function placesOfFormer(
  exports: readonly ExportConfig[],
  states: ExportStates,
): Promise<PlaceReport[]> {
  const { folder } = states;
  const missed = { type: 'export, not configured', reached: false };
  try {
    await removeStagedOfOthers(folder, new Set(exports.map(({ name }) => name)));
    return (await formerExports(exports, states)).map(({ name, place }) => {
      const state = `${join(folder, name)}.json`;
      const what = place
        ? `Not looked into. It was made last as ${place}: remove what is there of it, and then ${state}.`
        : `Not looked into. Where it was made last stands in ${state}, which cannot be read: find that out, remove what is there of it, and then that file.`;
      return { ...missed, place: name, again: false, what };
    });
  } catch (error) {
    const tryAgain = { ...missed, place: 'exports', again: true };
    if (error instanceof ExportFailed) return [{ ...tryAgain, what: `${error.message} ${error.hint}` }];
    const code = codeOf(error);
    if (code === undefined) throw error;
    const what = `${folder} cannot be read (${code}), so that exports which are configured no more are not known. Give the user that leadsync runs as that right, and run this again.`;
    return [{ ...tryAgain, what }];
  }
}

type Found = Pick<PlaceReport, 'reached' | 'again' | 'what' | 'files'>;

async function searchExport(
  config: ExportConfig,
  folder: string,
  person: Person,
  parts: SearchParts,
): Promise<Found> {
  const { name } = config;
  const destination = await openDestination(config, folder);
  try {
    const lock = await waitForLock(() => lockExport(folder, name), parts);
    if (!lock)
      return { reached: false, again: true, what: 'It is being made. Run this again when it is done.' };
    try {
      return await searchFiles(destination, person, parts.signal);
    } finally {
      lock.release();
    }
  } catch (error) {
    if (parts.signal.aborted)
      return { reached: false, again: true, what: 'Stopped before all its files were looked into.' };
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
      .read(file, (path) => holdsAnyOf(person, path), signal)
      .catch((error: unknown) => {
        if (signal.aborted) throw error;
        return undefined; // told below as a file that cannot be read; why does not matter to whoever has to look into it
      });
    if (held === undefined) unread += 1;
    if (held !== false)
      files.push(`${destination.nameOf(file)}${held ? '' : ' (cannot be read, and may hold them)'}`);
  }
  if (files.length === 0)
    return { reached: true, again: false, what: 'None of its files holds these leads.' };
  const what =
    unread === 0
      ? 'Its files are left as they are; these hold the leads.'
      : 'Its files are left as they are; these hold the leads, or may do so.';
  return { reached: false, again: false, what, files };
}

async function waitForLock(
  lock: () => { release(): void },
  { clock, signal }: SearchParts,
): Promise<{ release(): void } | undefined> {
  for (const startMs = clock.monotonicMs(); ; await clock.sleep(RETRY_MS, signal)) {
    signal.throwIfAborted();
    try {
      return lock();
    } catch (error) {
      if (!(error instanceof LockHeld)) throw error;
      if (clock.monotonicMs() - startMs > PATIENCE_MS) return undefined;
    }
  }
}
