import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Account } from '../support/oracle.ts';
import type { World } from './world.ts';

/** What whoever looks for the cause will want, beside the ledger and the logs. */
export function keepRecord({ folder, scene }: World, account: Account): void {
  const write = (name: string, value: unknown) =>
    writeFileSync(join(folder, 'record', `${name}.json`), JSON.stringify(value, undefined, 1));
  mkdirSync(join(folder, 'record'));
  // Their own file systems go with the run.
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
    scene.receiver.received.map(({ at, status, headers, body }) => ({
      at,
      status,
      id: headers['webhook-id'],
      leads: [...body.toString().matchAll(/"data":\{"id":(\d+)/g)].map(([, id]) => id),
    })),
  );
}
