import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Account } from '../support/scene/oracle.ts';
import { troublesOf, type World } from './world.ts';

/** Writes what a search for the cause needs, besides the ledger and the logs. */
export async function keepRecord(
  { folder, scene, parts, ledger, inForce }: World,
  account: Account,
): Promise<void> {
  const write = (name: string, value: unknown) =>
    writeFileSync(join(folder, 'record', `${name}.json`), JSON.stringify(value, undefined, 1));
  mkdirSync(join(folder, 'record'));
  await ledger.keep(join(folder, 'record'));
  // Their file systems are removed with the run.
  for (const name of ['data', 'drop'])
    cpSync(join(folder, name), join(folder, 'record', name), { recursive: true, dereference: true });
  write('account', account);
  write(
    'served',
    Object.entries(scene.services).flatMap(([source, { served }]) =>
      served.ids().map((id) => ({ source, id, versions: served.versions(id) })),
    ),
  );
  write(
    'received',
    parts.receiver.requests.map(({ request: { at, status, headers, body }, atMs, answeredMs, endedMs }) => ({
      at,
      status,
      atMs,
      answeredMs,
      endedMs,
      id: headers['webhook-id'],
      leads: [...body.toString().matchAll(/"data":\{"id":(\d+)/g)].map(([, id]) => id),
    })),
  );
  write('troubles', troublesOf(parts));
  write('mappings', inForce.periods);
}
