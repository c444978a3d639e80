import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { untilStopped } from '../../../src/cli/commands/run.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { sinkTypes } from '../../../src/sinks/registry.ts';
import { tempDir } from '../../support/files/temp-dir.ts';
import { until } from '../../support/time/until.ts';

test('SIGHUP that comes while leadsync starts is obeyed once it runs: the file may have changed since it was read', async () => {
  const folder = tempDir();
  const file = join(folder, 'leadsync.yaml');
  const source = { base_url: 'http://127.0.0.1:9', client_id: 'a', client_secret: 'b' };
  const write = (level: string) =>
    writeFileSync(file, stringify({ data_dir: './data', sources: { main: source }, log: { level } }));
  write('info');
  const load = () => loadConfig(file, { sinkTypes, env: {} });
  const lines: string[] = [];
  const ended = untilStopped({
    config: load(),
    load,
    role: { kind: 'run', deliver: true },
    admin: undefined,
    log: { write: (line) => void lines.push(line) },
  });
  write('debug');
  process.emit('SIGHUP');
  try {
    await until('it is reloaded', () => lines.some((line) => line.includes('"event":"reloaded"')));
  } finally {
    process.emit('SIGTERM');
  }
  expect(await ended).toBe(0);
  expect(lines.find((line) => line.includes('"event":"reloaded"'))).toContain('"changes":["log.level"]');
});
