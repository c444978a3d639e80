import { loadConfig } from '../../../src/config/load-config.ts';
import { Daemon } from '../../../src/daemon/daemon.ts';
import { Secret } from '../../../src/platform/options/secret.ts';
import { sinkTypes } from '../../../src/sinks/registry.ts';

// A `leadsync run` whose ledger is in PostgreSQL, which no configuration can say yet.
const [file = '', url = '', schema = ''] = process.argv.slice(2);
const config = { ...loadConfig(file, { sinkTypes, env: {} }), ledgerServer: serverOf() };
const daemon = await Daemon.start({
  config,
  load: () => ({ ...loadConfig(file, { sinkTypes, env: {} }), ledgerServer: serverOf() }),
  role: { kind: 'run', deliver: true },
  admin: config.admin,
  log: process.stderr,
});
void daemon.failed.then(async () => {
  await daemon.stop('the ledger', 60_000);
  process.exit(3);
});
process.on('message', async () => {
  const isClean = await daemon.stop('the test', 60_000);
  process.exit(isClean ? 0 : 1);
});

function serverOf() {
  return { url: new Secret(url), schema, connections: 4 };
}
