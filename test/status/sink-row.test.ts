import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load-config.ts';
import { sinkTypes } from '../../src/sinks/registry.ts';
import { sinkRow } from '../../src/status/sink-detail.ts';
import { viewSinks } from '../../src/status/status-view.ts';
import { Install } from '../cli/an-install.ts';

const sinks = {
  hook: { type: 'webhook', url: 'https://crm.example.com/hook', secret: `whsec_${btoa('x'.repeat(24))}` },
  drop: { type: 'csv', directory: '/srv/drop' },
  bucket: { type: 'parquet', to: 's3://acme-leads/leadsync', access_key_id: 'a', secret_access_key: 'b' },
  hub: { type: 'hubspot', token: 'canary-token' },
};

test('a sink in the list has its address without secrets, and its attempts of the last hour', async () => {
  const install = new Install({ sinks });
  const config = loadConfig(install.configFile, { sinkTypes, env: {} });
  const status = await (await install.ledger()).status();
  const total = { delivered: 3, refused: 1, unavailable: 0, duration: { p50: 120, p95: 300 } };
  const rows = viewSinks(config, status).map((view) =>
    sinkRow(view, {
      now: install.clock.now(),
      total: view.name === 'hook' ? total : undefined,
      values: config.values,
    }),
  );
  expect(rows.map(({ sink, address }) => [sink, address])).toEqual([
    ['hook', expect.stringMatching(/^https:\/\/crm\.example\.com/)],
    ['drop', '/srv/drop'],
    ['bucket', 's3://acme-leads/leadsync'],
    ['hub', null],
  ]);
  expect(rows[0]?.attempts_last_hour).toMatchObject({ success_rate: 0.75, duration_p50_ms: 120 });
  expect(rows[1]?.attempts_last_hour).toMatchObject({
    delivered: 0,
    success_rate: null,
    duration_p50_ms: null,
  });
});
