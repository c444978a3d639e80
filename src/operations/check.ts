import { constants } from 'node:fs';
import { access, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DestinationError } from '../alerts/destination.ts';
import { openDestination } from '../alerts/options.ts';
import type { Config, SinkConfig, SourceConfig } from '../config/contract/config.ts';
import { CarrierUnavailable } from '../delivery/carrier.ts';
import { ExportFailed } from '../exports/contract/export-failed.ts';
import type { ExportConfig } from '../exports/contract/options.ts';
import { openDestination as openExportDestination } from '../exports/destinations/open-destination.ts';
import { ExportStates } from '../exports/export-states.ts';
import { LedgerError } from '../ledger/contract/ledger-error.ts';
import { inspectFile } from '../ledger/database/inspect-file.ts';
import { codeOf } from '../platform/failures/error-code.ts';
import { disk } from '../platform/files/files.ts';
import type { Secret } from '../platform/options/secret.ts';
import { countOf } from '../platform/text/format.ts';
import type { Clock, Random } from '../platform/time/clock.ts';
import { SinkUnavailable } from '../sinks/sink.ts';
import { type Source, SourceError } from '../source/contract/source.ts';
import { openSource } from '../source/http-source.ts';
import type { Event } from '../telemetry/events.ts';
import { lacksLedger } from './opening/new-ledger.ts';
import { DataDirUnusable, ledgerFile } from './opening/open-ledger.ts';
import { openSink } from './opening/open-sinks.ts';
import { requireOrigin } from './require-origin.ts';

/** What came of looking at one thing. */
export interface CheckResult {
  readonly kind: 'data_dir' | 'ledger' | 'source' | 'sink' | 'queue' | 'export' | 'alerts';
  /** The source's, sink's, export's or destination's name; empty for what there is only one of. */
  readonly name: string;
  readonly ok: boolean;
  /** What was found, or what is wrong, in one sentence without any of a lead's text. */
  readonly detail: string;
  /** What to do next; empty where there is nothing to do. */
  readonly hint: string;
}

/** Where time and chance come from while sources, sinks and alerts are opened to be looked at. */
export interface CheckParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Where the ledger's leads of a source come from; undefined without any. */
  originOfLeads(source: string): Promise<string | undefined>;
}

/**
 * Looks at everything that the configuration names, all at the same time: one result each, in the order of the
 * configuration. Records nothing in the ledger, and delivers nothing. The client's credentials are tried even where a token of
 * theirs is stored. The stored token of a login is used, and renewed when it must be; one that does not fit the configuration stays
 * as it is, and is a failure. Where none was stored, the one that is got is kept.
 */
export function check(config: Config, parts: CheckParts, signal: AbortSignal): Promise<CheckResult>[] {
  const { redisUrl } = config.queue;
  const checked = (kind: CheckResult['kind'], name: string, look: () => Promise<string>) =>
    runCheck(kind, name, look, signal);
  const looks = [
    checked('data_dir', '', () => checkDataDir(config.dataDir)),
    ...(mayHaveLedger(config.dataDir)
      ? [checked('ledger', '', () => checkLedger(config.dataDir, signal))]
      : []),
    ...config.sources.map((source) =>
      checked('source', source.name, () => checkSource(source, config, parts, signal)),
    ),
    ...(redisUrl ? [checked('queue', '', () => checkQueue(redisUrl, signal))] : []),
    ...config.sinks
      .filter(({ enabled }) => enabled)
      .map((sink) => checked('sink', sink.name, () => checkSink(sink, parts.clock, signal))),
    ...config.exports.map((one) =>
      checked('export', one.name, () => checkExport(one, config.dataDir, signal)),
    ),
    ...Object.entries(config.alerts.to).map(([name, to]) =>
      checked('alerts', name, async () => {
        await openDestination(to, parts.clock).check(signal);
        return to.type === 'email' ? 'The mail server takes us.' : 'The server answers.';
      }),
    ),
  ];
  for (const look of looks) look.catch(() => undefined); // whoever awaits it in its turn hears of it
  return looks;
}

async function runCheck(
  kind: CheckResult['kind'],
  name: string,
  look: () => Promise<string>,
  signal: AbortSignal,
): Promise<CheckResult> {
  try {
    return { kind, name, ok: true, detail: await look(), hint: '' };
  } catch (error) {
    if (signal.aborted) return { kind, name, ok: false, detail: 'Stopped before it was known.', hint: '' };
    const foreseen =
      error instanceof SourceError ||
      error instanceof SinkUnavailable ||
      error instanceof CarrierUnavailable ||
      error instanceof DestinationError ||
      error instanceof ExportFailed ||
      error instanceof DataDirUnusable ||
      error instanceof LedgerError ||
      error instanceof StoredTokenUnusable;
    if (!foreseen) throw error;
    return { kind, name, ok: false, detail: error.message, hint: error.hint };
  }
}

/** A disk with less room counts as full, in bytes. */
const FULL_BYTES = 1024 * 1024;

/** Whether the data directory can be used, or made. */
async function checkDataDir(dataDir: string): Promise<string> {
  for (let folder = dataDir; ; folder = dirname(folder)) {
    try {
      await access(folder, constants.W_OK | constants.X_OK);
      await requireRoom(folder);
      return folder === dataDir ? `${dataDir} can be written.` : `${dataDir} will be made by the first run.`;
    } catch (error) {
      if (codeOf(error) === 'ENOENT' && dirname(folder) !== folder) continue;
      throw new DataDirUnusable(folder, error);
    }
  }
}

/** Whether there is a ledger to look at, or something else in its place. */
function mayHaveLedger(dataDir: string): boolean {
  try {
    return !lacksLedger(dataDir);
  } catch {
    return true; // the look at it says what is wrong
  }
}

/** Whether the whole ledger is undamaged, each index compared with its table. */
async function checkLedger(dataDir: string, signal: AbortSignal): Promise<string> {
  lacksLedger(dataDir); // throws where it cannot be reached
  const damage = await inspectFile(ledgerFile(dataDir), 'whole', signal);
  if (damage) throw damage;
  signal.throwIfAborted();
  return 'It is whole.';
}

async function requireRoom(folder: string): Promise<void> {
  const { blocks, bavail, bsize } = await statfs(folder);
  // A file system that counts no blocks does not say how much room it has.
  if (blocks > 0 && bavail * bsize < FULL_BYTES)
    throw Object.assign(new Error('no room'), { code: 'ENOSPC' });
}

async function checkSource(
  { name, options }: SourceConfig,
  { dataDir, tokenKey }: Config,
  { clock, random, originOfLeads }: CheckParts,
  signal: AbortSignal,
): Promise<string> {
  const misfits: string[] = [];
  let isTokenNew = false;
  const emit = (event: Event) => {
    if (event.type === 'token-fallback') misfits.push(event.reason);
    if (event.type === 'token-renewed') isTokenNew = true;
  };
  const source = openSource(name, options, { clock, random, dataDir, tokenKey, emit, trial: true });
  try {
    const listing = await readListing(source, signal);
    requireOrigin(source, await originOfLeads(name));
    const found = isTokenNew
      ? `A token was got, and ${listing}`
      : `${LOGIN_WORKS[0]}, and ${listing} ${LOGIN_WORKS[1]}`;
    if (misfits.length === 0) return found;
    throw new StoredTokenUnusable(`${misfits.join(' ')} The client's own credentials work: ${found}`);
  } catch (error) {
    if (misfits.length === 0 || !(error instanceof SourceError)) throw error;
    throw new StoredTokenUnusable(`${misfits.join(' ')} ${error.message}`, { cause: error });
  } finally {
    await source.close();
  }
}

/** The beginning of the sentence on a listing, and what follows it. */
const LOGIN_WORKS = [
  "The login's token works",
  'client_secret was not tried: it is needed when that token ends.',
] as const;

/** The listing cannot be read with what a login, or an earlier run, has stored. */
class StoredTokenUnusable extends Error {
  override readonly name = 'StoredTokenUnusable';
  readonly hint =
    'Put right what has changed in base_url, client_id, scope or tokens.encryption_key; or log in again with `leadsync login`.';
}

/** Returns what was read, as the end of a sentence, and what is wrong with it. */
async function readListing(source: Source, signal: AbortSignal): Promise<string> {
  const listing = await source.list(undefined, signal);
  if (listing.kind === 'unchanged') return 'the listing is unchanged.';
  let listed = 0;
  let rejected = 0;
  const reasons = new Set<string>();
  for await (const block of listing.blocks) {
    for (const element of block.elements()) {
      const item = element.read();
      listed += 1;
      if (item.kind === 'lead') continue;
      rejected += 1;
      if (reasons.size < 3) reasons.add(item.path ? `${item.path}: ${item.reason}` : item.reason);
    }
  }
  const broken =
    rejected > 0
      ? ` ${rejected} of them ${rejected === 1 ? 'breaks' : 'break'} the service's description (${[...reasons].join('; ')}).`
      : '';
  return `a listing of ${countOf(listed, 'lead')} was read.${broken}`;
}

async function checkExport(config: ExportConfig, dataDir: string, signal: AbortSignal): Promise<string> {
  const destination = await openExportDestination(config, new ExportStates(disk, dataDir).folder);
  try {
    await destination.check(signal);
    return 'Files can be brought there.';
  } finally {
    destination.close();
  }
}

async function checkQueue(url: Secret, signal: AbortSignal): Promise<string> {
  const { checkRedis } = await import('../delivery/check-redis.ts'); // with the queue's packages, which few need
  const warning = await checkRedis(url, signal);
  return warning === undefined ? 'Redis answers.' : `Redis answers, but ${warning}.`;
}

async function checkSink(config: SinkConfig, clock: Clock, signal: AbortSignal): Promise<string> {
  const sink = openSink(config, clock);
  try {
    await sink.check(signal);
    return 'Deliveries can be made.';
  } finally {
    await sink.close();
  }
}
