import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { untilStopped } from '../../../src/cli/commands/run.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { sinkTypes } from '../../../src/sinks/registry.ts';
import { tempDir } from '../../support/files/temp-dir.ts';
import { until } from '../../support/time/until.ts';

test('the log warns, at the start and after each change, of a configuration that every user may change, and read with its secrets', async () => {
  const folder = tempDir();
  const file = join(folder, 'leadsync.yaml');
  const source = { base_url: 'http://127.0.0.1:9', client_id: 'a', client_secret: 'b' };
  const write = (level: string) =>
    writeFileSync(file, stringify({ data_dir: './data', sources: { main: source }, log: { level } }));
  write('info');
  chmodSync(folder, 0o755);
  chmodSync(file, 0o666);
  const lines: string[] = [];
  const warnings = () => lines.filter((line) => line.includes('"event":"config-warning"'));
  const ended = untilStopped({
    config: loadConfig(file, { sinkTypes, env: {} }),
    load: () => loadConfig(file, { sinkTypes, env: {} }),
    role: { kind: 'run', deliver: true },
    admin: undefined,
    log: { write: (line) => void lines.push(line) },
  });
  try {
    await until('it is said', () => warnings().length === 2);
    write('debug');
    process.emit('SIGHUP');
    await until('it is said again', () => warnings().length === 4);
  } finally {
    process.emit('SIGTERM');
  }
  expect(await ended).toBe(0);
  const told = warnings().map((line) => JSON.parse(line));
  expect(new Set(told.map(({ level }) => level))).toEqual(new Set(['warn']));
  const each = [/Run: chmod o-w/, /the secrets in .*: sources\.main\.client_secret\. Run: chmod 600/];
  expect(told.map(({ warning }) => warning)).toEqual(
    [...each, ...each].map((one) => expect.stringMatching(one)),
  );
});
