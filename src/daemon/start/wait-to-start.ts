import { randomUUID } from 'node:crypto';
import type { Config } from '../../config/contract/config.ts';
import { removeAdminEndpoint, writeAdminEndpoint } from '../../operations/opening/admin-endpoint.ts';
import { ledgerPlaceOf } from '../../operations/opening/configured-ledger.ts';
import { requireNewInstallation } from '../../operations/opening/new-ledger.ts';
import { isLoopback } from '../../platform/http/address.ts';
import { version } from '../../platform/process/version.ts';
import type { Clock } from '../../platform/time/clock.ts';
import { createLogger, type Logger, type LogStream } from '../../telemetry/logger.ts';

/** How long `run` waits for destinations and Redis to show whether there was an earlier ledger, in ms. */
const RUN_PATIENCE_MS = 300_000;
/** The same for `sync`, in ms. Shorter, because a person or a script is waiting for `sync`. */
const SYNC_PATIENCE_MS = 10_000;

const NOT_STARTED =
  'leadsync is still waiting to start and cannot reload its configuration. Restart it to use the changed configuration.';

/** Daemon options that `waitToStart` needs. */
export interface StartOptions {
  readonly config: Config;
  readonly role: { readonly kind: 'run' | 'worker' | 'sync' };
  /** Address of the admin server. Undefined if there is none. */
  readonly admin: Address | undefined;
  readonly log: LogStream;
  /** Aborts the wait. Absent: the wait cannot be aborted. */
  readonly stop?: AbortSignal;
}

interface Address {
  readonly host: string;
  readonly port: number;
}

/**
 * If there is no ledger, waits until it is known whether leadsync may create one. Meanwhile, logs what it is waiting for, answers `/livez`
 * (and so `leadsync healthcheck`), and reports the reason on `/readyz`.
 * @throws NewLedgerRefused, InstallationUnknown, StoppedBeforeStart, AdminAddressError
 */
export async function waitToStart(options: StartOptions, clock: Clock): Promise<void> {
  const { config, role, admin, stop = new AbortController().signal } = options;
  const patienceMs = role.kind === 'sync' ? SYNC_PATIENCE_MS : RUN_PATIENCE_MS;
  const logger = createLogger({ ...config.log, stream: options.log });
  const { dataDir } = config;
  const { where } = ledgerPlaceOf(config);
  let reasons: readonly string[] = [];
  let server: { close(): Promise<void> } | undefined;
  const onWait = async (unanswered: readonly string[]) => {
    const isNews = unanswered.join() !== reasons.join();
    reasons = unanswered;
    if (admin) server ??= await serveProbes(admin, config, () => reasons, logger);
    if (isNews) logger.event({ type: 'start-waiting', reasons: unanswered, dataDir, where, patienceMs });
  };
  try {
    await requireNewInstallation(config, { clock, stop, patienceMs, onWait });
  } finally {
    await server?.close();
  }
}

async function serveProbes(
  { host, port }: Address,
  config: Config,
  reasons: () => readonly string[],
  logger: Logger,
) {
  const { startAdmin } = await import('../../admin/server.ts'); // lazy: without an admin address, the server would only waste memory
  const loadedAt = new Date().toISOString();
  const instance = randomUUID();
  const { dataDir } = config;
  const admin = await startAdmin({
    host,
    port,
    hosts: () => [host, ...config.adminHosts],
    proxies: () => config.adminProxies,
    tokens: () => config.adminTokens,
    header: () => config.adminHeader,
    loopback: isLoopback(host),
    version,
    instance,
    ready: () =>
      reasons().map((reason) => `leadsync is waiting to start because there is no ledger yet. ${reason}`),
    registry: { contentType: 'text/plain; version=0.0.4; charset=utf-8', metrics: async () => '' },
    configuration: async () => ({ generation: 1, loaded_at: loadedAt, stale: null, values: [] }),
    reload: async () => ({ applied: false, generation: 1, faults: [], failure: NOT_STARTED }),
    operations: undefined,
    audit: async () => undefined,
    onFault: (error) => logger.fault('answering a request', error),
  });
  writeAdminEndpoint(dataDir, { host, port: Number(new URL(admin.url).port), instance });
  return {
    close: async () => {
      removeAdminEndpoint(dataDir);
      await admin.close();
    },
  };
}
