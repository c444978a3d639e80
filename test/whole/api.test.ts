import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir } from '../support/files/temp-dir.ts';
import { runLeadsync } from '../support/program/leadsync.ts';
import { canaryLead, expectNoCanary } from '../support/scene/canary.ts';
import { SECRET } from '../support/scene/scene.ts';
import { until } from '../support/time/until.ts';
import { aRunningLeadsync, TOKEN } from './a-running-leadsync.ts';

test('the API shows what happened to each lead, and retries what failed once the cause is fixed', async () => {
  const { ask, receiver, refused, dataDir, configFile } = await aRunningLeadsync();
  await until('all is settled', async () => {
    const { rows } = (await ask('/sinks')).body;
    return rows.every(({ delivered, dead }: Record<string, number>) => (delivered ?? 0) + (dead ?? 0) === 5);
  });
  const { problems, healthy, speed_to_lead, leads_per_hour } = (await ask('/overview')).body;
  expect(healthy).toBe(false);
  expect(problems).toMatchObject([
    {
      code: 'deliveries_dead',
      severity: 'warning',
      about: 'crm',
      message: expect.stringMatching(/^crm: 1 dead delivery since \S+Z \((?:just now|\d+ s ago)\): /),
    },
  ]);
  // All leads existed before leadsync did, so they say nothing about its speed.
  expect(speed_to_lead).toMatchObject([
    { sink: 'crm', leads: 0 },
    { sink: 'drop', leads: 0 },
  ]);
  expect(leads_per_hour.reduce((sum: number, { leads }: { leads: number }) => sum + leads, 0)).toBe(5);

  const [dead] = (await ask('/deliveries?state=dead')).body.rows;
  expect(dead).toMatchObject({ sink: 'crm', lead_id: '2', attempts: 1, last_http_status: 422 });
  expect(dead.last_duration_ms).toBeGreaterThan(0);
  expect((await ask('/leads/main/2')).body.deliveries).toMatchObject([
    { sink: 'drop', state: 'delivered' },
    { sink: 'crm', state: 'dead', attempt_rows: [{ outcome: 'refused', http_status: 422 }] },
  ]);
  refused.clear();
  expect((await ask('/deliveries/retry', { delivery: dead.delivery_id })).body).toEqual({
    deliveries: 1,
    unmatched: [],
  });
  await until('the lead has arrived', async () => (await ask('/sinks')).body.rows[0].delivered === 5);
  await until('it is healthy', async () => (await ask('/overview')).body.healthy);

  expect((await ask('/sinks/crm/pause', { reason: 'moving house' })).status).toBe(200);
  const before = receiver.received.length;
  expect((await ask('/leads/main/3/replay', { sink: 'crm' })).body).toEqual({
    deliveries: 1,
    unmatched: [],
  });
  expect((await ask('/sinks')).body.rows[0]).toMatchObject({
    state: 'paused',
    reason: 'moving house',
    pending: 1,
  });
  expect((await ask('/sinks/crm/test', null)).body).toMatchObject({ arrived: true });
  expect((await ask('/sinks/crm/resume', null)).status).toBe(200);
  await until('the replay has arrived', () => receiver.received.length === before + 2);
  await until('the replay is settled', async () => (await ask('/sinks/crm')).body.attempts.delivered === 6);
  const detail = (await ask('/sinks/crm?period=1h')).body;
  expect(detail).toMatchObject({
    attempts: { delivered: 6, refused: 1, unavailable: 0, success_rate: 6 / 7 },
    breaker: { recent_failures: 0, concurrency: 10, max_concurrency: 10 },
    errors: [{ attempts: 1 }],
    holds: [{ kind: 'paused', reason: 'moving house', times: 1 }],
    reasons: [],
  });
  expect(detail.recent).toHaveLength(7);
  expect(detail.options.find(({ option }: { option: string }) => option === 'url').value).toMatch(
    /^http:\/\/127/,
  );
  expect((await ask('/sinks/crn')).status).toBe(404);

  for (const path of ['overview', 'deliveries', 'sinks', 'polls', 'configuration'])
    expectNoCanary(JSON.stringify((await ask(`/${path}`)).body), path);
  expect(JSON.stringify((await ask('/configuration')).body)).not.toContain(TOKEN);
  expect((await ask('/leads/main/3/reveal', null)).body.raw).toBe(canaryLead(3));
  expect((await ask('/leads/main/3/versions/1/reveal', null)).body).toMatchObject({
    version: 1,
    raw_before: null,
  });
  expect((await ask('/leads/main/3/versions/9/reveal', null)).body.error.code).toBe('unknown-version');
  const [toCrm, toDrop] = (await ask('/leads/main/3/preview', null)).body.sinks;
  expect(toCrm).toMatchObject({ sink: 'crm', state: 'sent' });
  expect(JSON.parse(toCrm.previews[0].content).data).toEqual(JSON.parse(canaryLead(3)));
  expect(toDrop.previews[0].content).toContain('k9canary7q');
  const trying = { expression: 'lead.client_name', source: 'main', lead: '3' };
  expect((await ask('/expressions/try', trying)).body.result).toEqual({
    kind: 'value',
    type: expect.stringMatching(/^text of \d+ characters$/),
    json: JSON.stringify(JSON.parse(canaryLead(3)).client_name),
  });
  expect((await ask('/expressions/try', { expression: 'lead.client_nam' })).body.result).toMatchObject({
    kind: 'fault',
    hint: 'did you mean "client_name"?',
    place: { start: 5, end: 15 },
  });

  const audit = readFileSync(join(dataDir, 'audit.jsonl'), 'utf8');
  expectNoCanary(audit, 'the audit log');
  expect(
    audit
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toMatchObject([
    {
      who: 'admin',
      via: 'token',
      role: 'admin',
      address: '127.0.0.1',
      what: 'retry',
      delivery: dead.delivery_id,
    },
    { what: 'pause', sink: 'crm', reason: 'moving house' },
    { what: 'replay', sink: 'crm', source: 'main', lead: '3' },
    { what: 'test', sink: 'crm' },
    { what: 'resume', sink: 'crm' },
    { what: 'reveal', source: 'main', lead: '3' },
    { what: 'reveal', source: 'main', lead: '3', version: 1 },
    { what: 'reveal', source: 'main', lead: '3', version: 9 },
    { what: 'reveal', source: 'main', lead: '3', as: 'previews' },
    { what: 'reveal', source: 'main', lead: '3', as: 'expression' },
  ]);

  const reload = (env: Record<string, string>) => runLeadsync(['reload', '-c', configFile], { env });
  expect((await reload({ TOKEN })).code).toBe(0);
  const wrong = await reload({ TOKEN: 'another-token-entirely' });
  expect(wrong.code).toBe(1);
  expect(wrong.stderr).toContain('requires a different admin.token');
});

test('an unknown name is answered with the names that exist', async () => {
  const { ask } = await aRunningLeadsync();
  expect(await ask('/deliveries?sink=cmr')).toMatchObject({
    status: 404,
    body: { error: { code: 'unknown-sink', hint: 'The sinks are: crm, drop.' } },
  });
  expect((await ask('/deliveries?sink=hub')).body).toMatchObject({
    error: { message: 'There is no sink "hub": it was renamed to crm.' },
  });
  expect(await ask('/leads?lead=9999999999999999999')).toMatchObject({
    status: 400,
    body: { error: { code: 'wrong-lead-id' } },
  });
  expect(await ask('/leads?after=1')).toMatchObject({ status: 400, body: { error: { code: 'wrong-page' } } });
  expect(await ask('/leads/main/77/reveal', null)).toMatchObject({ status: 404 });
  expect(await ask('/sinks/cmr/test', null)).toMatchObject({
    status: 404,
    body: { error: { code: 'unknown-sink' } },
  });
});

test('the API shows when each export last ran, what failed, and when it runs next', async () => {
  const notADirectory = join(tempDir(), 'a-file');
  writeFileSync(notADirectory, '');
  const at = `${String((new Date().getUTCHours() + 12) % 24).padStart(2, '0')}:00`;
  const { ask, adminUrl } = await aRunningLeadsync({
    exports: {
      hourly: { type: 'directory', directory: './out', every: '90m' },
      broken: { type: 'directory', directory: notADirectory, every: '1d' },
      later: { type: 's3', bucket: 'acme', prefix: 'leads/', at },
    },
  });
  const { exports, problems } = await until('two exports have run and the third is scheduled', async () => {
    const { body } = await ask('/overview');
    const [hourly, broken, later] = body.exports;
    return hourly.state === 'made' && broken.state === 'failed' && later.next_at ? body : undefined;
  });
  expect(exports).toMatchObject([
    { export: 'hourly', type: 'directory', every_seconds: 5_400, at: null, failures: 0, last_error: null },
    { export: 'broken', state: 'failed', target: notADirectory, last_success_at: null, failures: 1 },
    { export: 'later', state: 'new', target: 's3://acme/leads/', at, timezone: 'UTC', rows: null },
  ]);
  const [hourly, broken, later] = exports;
  expect(Date.parse(hourly.next_at) - Date.parse(hourly.last_success_at)).toBe(5_400_000);
  expect(hourly.place).toMatch(/out\/hourly-\d{8}T\d{6}Z\.parquet$/);
  expect(hourly.bytes).toBe(statSync(hourly.place).size);
  expect(broken.last_error).toContain('is not a folder');
  expect(later.next_at).toMatch(`T${at}:00.000Z`);
  expect(problems).toContainEqual(
    expect.objectContaining({ about: 'broken', message: expect.stringContaining('Export broken failed') }),
  );
  const metrics = await (
    await fetch(`${adminUrl}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })
  ).text();
  expect(metrics).toContain('leadsync_export_failures_in_a_row{export="broken"} 1');
  expect(metrics).toContain('leadsync_export_failures_in_a_row{export="hourly"} 0');
});

test('the API lists the alerts and their destinations', async () => {
  const ops = { type: 'webhook', url: 'http://127.0.0.1:9', secret: SECRET };
  const { ask } = await aRunningLeadsync({ alerts: { to: { ops } } });
  await until('a delivery is dead', async () => (await ask('/sinks')).body.rows[0].dead === 1);
  // leadsync evaluates the conditions every 15 s.
  await until('the alert is there', async () => (await ask('/alerts')).body.alerts.length > 0, 20_000);
  expect((await ask('/alerts')).body).toMatchObject({
    destinations: [{ name: 'ops', type: 'webhook' }],
    alerts: [{ condition: 'deliveries_dead', about: 'crm', next_notice: expect.any(String) }],
  });
});

test('an export and a backup run on request through the API, and the audit log names them', async () => {
  const hour = String((new Date().getUTCHours() + 12) % 24).padStart(2, '0'); // neither is due soon
  const daily = { type: 'directory', at: `${hour}:00`, timezone: 'UTC' };
  const { ask, dataDir } = await aRunningLeadsync({
    exports: { nightly: { ...daily, directory: './out' } },
    backups: { safe: { ...daily, directory: './safe' } },
  });
  expect((await ask('/exports/safe/run', null)).body.error.code).toBe('unknown-export');
  expect((await ask('/exports/nightly/run', null)).body).toEqual({ export: 'nightly', run: 'requested' });
  expect((await ask('/backups/safe/run', null)).body).toEqual({ backup: 'safe', run: 'requested' });
  await until('both are made', async () => {
    const { exports, backups } = (await ask('/overview')).body;
    return [...exports, ...backups].every(({ state }: { state: string }) => state === 'made');
  });
  const audit = readFileSync(join(dataDir, 'audit.jsonl'), 'utf8').trim().split('\n');
  expect(audit.map((line) => JSON.parse(line))).toMatchObject([
    { what: 'export', name: 'safe' },
    { what: 'export', name: 'nightly' },
    { what: 'backup', name: 'safe' },
  ]);
});

test('a dry run says what the action would do, changes nothing, and is not in the audit log', async () => {
  const { ask, receiver, dataDir } = await aRunningLeadsync();
  await until('all is settled', async () => {
    const { rows } = (await ask('/sinks')).body;
    return rows.every(({ delivered, dead }: Record<string, number>) => (delivered ?? 0) + (dead ?? 0) === 5);
  });
  const state = async () => ({
    crm: (await ask('/sinks')).body.rows[0],
    deliveries: (await ask('/deliveries')).body.rows,
    requests: receiver.received.length,
  });
  const before = await state();
  const ids = [before.deliveries.find(({ state }: { state: string }) => state === 'dead').delivery_id, '77'];
  const one = { deliveries: 1, groups: [{ sink: 'crm', source: 'main', state: 'dead', deliveries: 1 }] };
  expect((await ask('/deliveries/retry', { state: 'dead', dry_run: true })).body).toMatchObject(one);
  expect((await ask('/deliveries/retry', { ids, dry_run: true })).body).toMatchObject({
    ...one,
    unmatched: ['77'],
  });
  expect(
    (await ask('/deliveries/discard', { sink: 'crm', note: 'a test', dry_run: true })).body,
  ).toMatchObject(one);
  expect((await ask('/sinks/crm/replay', { state: 'delivered', dry_run: true })).body).toMatchObject({
    leads: 4,
    sources: ['main'],
    unmatched: [],
  });
  expect((await ask('/leads/main/3/replay', { sink: 'crm', dry_run: true })).body).toEqual({
    deliveries: 1,
    unmatched: [],
  });
  expect((await ask('/sinks/crm/cancel-replay', { dry_run: true })).body).toEqual({
    cancelled: 0,
    attempted: 0,
    needed: 0,
  });
  const after = await state();
  expect(after.deliveries).toEqual(before.deliveries);
  expect(after.crm).toMatchObject({ dead: 1, delivered: 4, pending: 0 });
  expect(after.requests).toBe(before.requests);
  expect(existsSync(join(dataDir, 'audit.jsonl'))).toBe(false);
});

test('an unknown batch is answered with how far leadsync searched, wherever it is named', async () => {
  const { ask } = await aRunningLeadsync();
  const webhook_id = `batch_${'0'.repeat(32)}`;
  const unknown = {
    status: 404,
    body: {
      error: {
        code: 'unknown-batch',
        message: expect.stringContaining('None of the last 20,000 attempts'),
        hint: expect.stringContaining('Search for the `id` of an event'),
      },
    },
  };
  expect(await ask(`/deliveries?webhook_id=${webhook_id}`)).toMatchObject(unknown);
  expect(await ask(`/deliveries/count?webhook_id=${webhook_id}`)).toMatchObject(unknown);
  expect(await ask('/deliveries/retry', { webhook_id })).toMatchObject(unknown);
  expect(await ask('/deliveries/retry', { webhook_id, dry_run: true })).toMatchObject(unknown);
  expect(await ask('/deliveries/discard', { webhook_id, note: 'a test' })).toMatchObject(unknown);
  expect((await ask('/deliveries?webhook_id=crm:main:77:1:0a1b2c3d')).body.rows).toEqual([]);
});
