import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { loadConfig } from '../../../src/config/load-config.ts';
import { namesOf } from '../../../src/daemon/start/compose.ts';
import { sinkTypes } from '../../../src/sinks/registry.ts';
import { tempDir } from '../../support/files/temp-dir.ts';

test('the destinations of alerts have metrics in the process that sends alerts', () => {
  const file = join(tempDir(), 'leadsync.yaml');
  const source = { base_url: 'https://leads.example.com', client_id: 'a', client_secret: 'b' };
  const to = { ops: { type: 'slack', url: 'https://hooks.example.com/a' } };
  writeFileSync(file, stringify({ data_dir: './data', sources: { main: source }, alerts: { to } }));
  const config = loadConfig(file, { sinkTypes, env: {} });
  expect(namesOf(config, { kind: 'run', deliver: true }).destinations).toEqual(['ops']);
  expect(namesOf(config, { kind: 'worker' }).destinations).toEqual([]);
});
