import { constants } from 'node:fs';
import { access, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DestinationError } from '../alerts/destination.ts';
import { checkHeartbeat } from '../alerts/heartbeat.ts';
import { openDestination } from '../alerts/options.ts';
import { type Config, filesOf, type SinkConfig } from '../config/contract/config.ts';
import { CarrierUnavailable } from '../delivery/carrier.ts';
import type { RedisPlace } from '../delivery/options.ts';
import { ExportFailed } from '../exports/contract/export-failed.ts';
import { type ExportConfig, isBackup } from '../exports/contract/options.ts';
import { openDestination as openExportDestination } from '../exports/destinations/open-destination.ts';
import { LoginFailed } from '../identity/contract.ts';
import type { Quota } from '../leads/quota.ts';
import type { LastDeclaration } from '../ledger/contract/declaration.ts';
import { LedgerError } from '../ledger/contract/ledger-error.ts';
import { columnsOfDefinition } from '../mapping/map-delivery.ts';
import { codeOf } from '../platform/failures/error-code.ts';
import { SinkUnavailable } from '../sinks/sink-unavailable.ts';
import { SourceError } from '../source/contract/source.ts';
import { checkLogin } from './check-openid-provider.ts';
import { type CheckParts, checkSource, StoredTokenUnusable } from './check-source.ts';
import { ledgerPlaceOf } from './opening/configured-ledger.ts';
import { exportFolder } from './opening/installation-stores.ts';
import { DataDirUnusable } from './opening/open-ledger.ts';
import { openSink } from './opening/open-sinks.ts';
import { describeCost, describeOwed } from './planning/describe-cost.ts';
import { planOf } from './planning/plan.ts';

/** Result of one check. */
export interface CheckResult {
  readonly kind:
    | 'data_dir'
    | 'ledger'
    | 'source'
    | 'sink'
    | 'queue'
    | 'export'
    | 'backup'
    | 'alerts'
    | 'login';
  /**
   * Name of the source, sink, export, backup or alert destination; `heartbeat` for the heartbeat. Empty for `data_dir`, `ledger`, `queue`
   * and `login`, of which there is only one.
   */
  readonly name: string;
  readonly ok: boolean;
  /** The finding or the problem in one or more sentences, without lead data. */
  readonly detail: string;
  /** The next step for the operator. Empty if there is nothing to do. */
  readonly hint: string;
}

/**
 * Checks everything that the configuration names, concurrently. Returns one result for each thing checked: the data directory; the ledger,
 * Redis, the heartbeat and the OpenID provider of the pages, if there are any; and every source, enabled sink, export, backup and alert
 * destination. Writes nothing to the ledger and delivers nothing. Tests the client credentials even if a token obtained with them is
 * stored. Uses the stored token of a login and renews it if necessary; a stored token that does not match the configuration is a failure
 * and stays unchanged. Stores a new token if none was stored.
 */
export function check(config: Config, parts: CheckParts, signal: AbortSignal): Promise<CheckResult>[] {
  const { redis } = config.queue;
  const ledger = ledgerPlaceOf(config);
  const start = (kind: CheckResult['kind'], name: string, run: () => Promise<string>) =>
    runCheck(kind, name, run, signal);
  const { heartbeat } = config.alerts;
  const { adminLogin } = config;
  const listings = config.sources.map(() => Promise.withResolvers<number | undefined>());
  const last = withoutLedger(config, parts.last, Promise.all(listings.map(({ promise }) => promise)));
  const checks = [
    start('data_dir', '', () => checkDataDir(config.dataDir)),
    ...(ledger.mayExist() ? [start('ledger', '', () => ledger.check(signal, parts.clock))] : []),
    ...config.sources.map((source, at) =>
      start('source', source.name, async () => {
        try {
          const { found, leads } = await checkSource(source, config, parts, signal);
          listings[at]?.resolve(leads);
          return found;
        } finally {
          listings[at]?.resolve(undefined);
        }
      }),
    ),
    ...(redis ? [start('queue', '', () => checkQueue(redis, signal))] : []),
    ...config.sinks
      .filter(({ enabled }) => enabled)
      .map((sink) => start('sink', sink.name, () => checkSink(sink, config, { ...parts, last }, signal))),
    ...filesOf(config).map((one) =>
      start(isBackup(one) ? 'backup' : 'export', one.name, () => checkExport(one, config.dataDir, signal)),
    ),
    ...Object.entries(config.alerts.to).map(([name, to]) =>
      start('alerts', name, async () => {
        await openDestination(to, parts.clock).check(signal);
        return to.type === 'email'
          ? 'The mail server accepts the connection and the login.'
          : 'The server answers.';
      }),
    ),
    ...(heartbeat
      ? [
          start('alerts', 'heartbeat', async () => {
            await checkHeartbeat(heartbeat, signal);
            return 'The server answers. No heartbeat was sent.';
          }),
        ]
      : []),
    ...(adminLogin
      ? [start('login', '', () => checkLogin(adminLogin.provider, config, parts.clock, signal))]
      : []),
  ];
  for (const check of checks) check.catch(() => undefined); // the caller awaits each in turn and handles the rejection
  return checks;
}

async function runCheck(
  kind: CheckResult['kind'],
  name: string,
  run: () => Promise<string>,
  signal: AbortSignal,
): Promise<CheckResult> {
  try {
    return { kind, name, ok: true, detail: await run(), hint: '' };
  } catch (error) {
    if (signal.aborted)
      return { kind, name, ok: false, detail: 'Stopped before the check was complete.', hint: '' };
    const isExpected =
      error instanceof SourceError ||
      error instanceof SinkUnavailable ||
      error instanceof CarrierUnavailable ||
      error instanceof DestinationError ||
      error instanceof ExportFailed ||
      error instanceof DataDirUnusable ||
      error instanceof LedgerError ||
      error instanceof LoginFailed ||
      error instanceof StoredTokenUnusable;
    if (!isExpected) throw error;
    return { kind, name, ok: false, detail: error.message, hint: error.hint };
  }
}

/** Free space below which a disk counts as full, in bytes. */
const FULL_BYTES = 1024 * 1024;

/** Checks that the data directory is writable or can be created. @throws DataDirUnusable */
async function checkDataDir(dataDir: string): Promise<string> {
  for (let folder = dataDir; ; folder = dirname(folder)) {
    try {
      await access(folder, constants.W_OK | constants.X_OK);
      await requireRoom(folder);
      return folder === dataDir ? `${dataDir} is writable.` : `The first run creates ${dataDir}.`;
    } catch (error) {
      if (codeOf(error) === 'ENOENT' && dirname(folder) !== folder) continue;
      throw new DataDirUnusable(folder, error);
    }
  }
}

async function requireRoom(folder: string): Promise<void> {
  const { blocks, bavail, bsize } = await statfs(folder);
  // A file system that reports no blocks does not say how much space is free.
  if (blocks > 0 && bavail * bsize < FULL_BYTES)
    throw Object.assign(new Error('no room'), { code: 'ENOSPC' });
}

async function checkExport(config: ExportConfig, dataDir: string, signal: AbortSignal): Promise<string> {
  const destination = await openExportDestination(config, exportFolder(dataDir));
  try {
    await destination.check(signal);
    return 'Files can be written there.';
  } finally {
    destination.close();
  }
}

async function checkQueue(redis: RedisPlace, signal: AbortSignal): Promise<string> {
  const { checkRedis } = await import('../delivery/check-redis.ts'); // lazy: loads the queue's packages
  return checkRedis(redis, signal);
}

async function checkSink(
  sinkConfig: SinkConfig,
  config: Config,
  { clock, last }: CheckParts,
  signal: AbortSignal,
): Promise<string> {
  const { name, type, options, batch, mapping } = sinkConfig;
  const sink = await openSink(sinkConfig, clock);
  try {
    await sink.check(signal, columnsOfDefinition(mapping, config.clientKey));
    const cost = type.leadCost?.(options, batch.max);
    const quota = sink.quota?.();
    const costs = cost ? [describeCost(cost, quota), ...owedPart(name, config, await last, quota)] : [];
    const test =
      type.shownByTest &&
      `\`leadsync test-sink ${name}\` shows ${type.shownByTest}; a check cannot find this out.`;
    return [type.checked(options), ...costs, ...(test ? [test] : [])].join(' ');
  } finally {
    await sink.close();
  }
}

/**
 * Returns the last declaration. Before the first start, there is none, so returns what the ledger will know after the first polls,
 * according to the current listings; undefined if a listing could not be read.
 */
async function withoutLedger(
  config: Config,
  last: CheckParts['last'],
  listed: Promise<readonly (number | undefined)[]>,
): Promise<LastDeclaration | undefined> {
  if (ledgerPlaceOf(config).mayExist()) return last;
  const counts = await listed;
  const sources = config.sources.flatMap(({ name }, at) => {
    const leads = counts[at];
    return leads === undefined ? [] : [{ name, leads, config: undefined, origin: undefined }];
  });
  return sources.length < counts.length ? undefined : { sources, sinks: [] };
}

/** Describes the cost of the leads that are owed to a new or returning sink. Empty if there is no such cost. */
function owedPart(
  name: string,
  config: Config,
  last: LastDeclaration | undefined,
  quota: Quota | undefined,
): readonly string[] {
  if (!last) return [];
  const planned = planOf({ ...last, exports: [] }, config).sinks.find((sink) => sink.name === name);
  if (planned?.kind !== 'added' && planned?.kind !== 'back') return [];
  return planned.cost ? [describeOwed(planned.leads, planned.cost, quota)] : [];
}
