import { randomUUID } from 'node:crypto';
import { startAdmin } from '../../admin/server.ts';
import { MappingProcess } from '../../mapping/start-mapping-process.ts';
import { removeAdminEndpoint, writeAdminEndpoint } from '../../operations/opening/admin-endpoint.ts';
import { ledgerPlaceOf } from '../../operations/opening/configured-ledger.ts';
import { isLoopback } from '../../platform/http/address.ts';
import type { Closers } from '../../platform/process/closers.ts';
import { version } from '../../platform/process/version.ts';
import type { Parts } from '../start/parts.ts';
import { loginProvider } from './login-provider.ts';
import { type OperationParts, operationsOf } from './operations.ts';

/**
 * Starts the admin server with probes, metrics, reload, pages and API. In a worker, serves no pages, and only the configuration in the API.
 * @throws AdminAddressError
 */
export async function serveAdmin(
  { host, port }: { readonly host: string; readonly port: number },
  parts: Parts,
  closers: Closers,
  daemon: Pick<
    OperationParts,
    'unready' | 'state' | 'reload' | 'previewReload' | 'pollNow' | 'exportsUnderway'
  >,
): Promise<void> {
  const { audit, current, carrier, clock, ledger, telemetry, role } = parts;
  const { dataDir } = current.config;
  const queries = await ledgerPlaceOf(current.config).openPages(ledger);
  closers.push(() => queries.close());
  const mappings = new MappingProcess(() => current.config.clientKey);
  closers.push(() => mappings.close());
  const configuration = async () => {
    const { generation, loadedAt, stale, values } = daemon.state();
    return {
      generation,
      loaded_at: loadedAt.toISOString(),
      stale: stale
        ? {
            since: stale.since.toISOString(),
            faults: [...stale.faults],
            failure: stale.failure ?? null,
          }
        : null,
      values: [...values],
    };
  };
  const [instance, recordKey] = [randomUUID(), randomUUID()];
  const closing = new AbortController();
  closers.push(() => closing.abort());
  const admin = await startAdmin({
    host,
    port,
    hosts: () => [host, ...current.config.adminHosts],
    publicUrl: () => current.config.publicUrl,
    proxies: () => current.config.adminProxies,
    tokens: () => current.config.adminTokens,
    header: () => current.config.adminHeader,
    login: loginProvider(() => current.config, {
      stop: closing.signal,
      monotonicMs: () => clock.monotonicMs(),
    }),
    onLoginFailed: ({ reason, message, hint }) =>
      telemetry.emit({ type: 'login-failed', reason, detail: message, hint }),
    loopback: isLoopback(host),
    version,
    instance,
    recordKey,
    ready: daemon.unready,
    registry: telemetry.registry,
    configuration,
    reload: daemon.reload,
    operations:
      role.kind === 'worker'
        ? undefined
        : operationsOf({
            ...daemon,
            parts,
            queries,
            audit,
            mappings,
            configuration,
            recentLines: telemetry.logger.recent,
          }),
    boardQueues: current.config.queue.board ? carrier.boardQueues : undefined,
    rewriteCommands: parts.rewriteCommands,
    audit: (entry) => audit.write(entry),
    onFault: (error) => telemetry.logger.fault('answering a request', error),
  });
  closers.push(() => admin.close());
  if (role.kind === 'worker') return; // a worker does not hold the data directory; commands reach a worker with `--at`
  writeAdminEndpoint(dataDir, { host, port: Number(new URL(admin.url).port), instance, recordKey });
  closers.push(() => removeAdminEndpoint(dataDir));
}
