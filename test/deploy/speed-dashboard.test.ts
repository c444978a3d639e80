import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { asReader, withFreshLead } from '../catalog/reading-store.ts';

interface Panel {
  readonly title: string;
  readonly datasource: { readonly type: string };
  readonly targets: readonly { readonly format: 'table' | 'time_series'; readonly rawSql: string }[];
}

interface Variable {
  readonly name: string;
  readonly type: string;
  readonly query: string;
}

const root = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const dashboard = JSON.parse(read('config/monitoring/grafana/dashboards/speed-to-lead.json'));
const panels: readonly Panel[] = dashboard.panels;
const variables: readonly Variable[] = dashboard.templating.list;

const FROM = '2026-11-01T00:00:00Z';
const TO = '2026-12-01T00:00:00Z';

/**
 * SQL as Grafana sends it: with its macros written out, and its variables as quoted texts
 * (https://grafana.com/docs/grafana/latest/datasources/postgres/).
 */
function sent(sql: string, values: Readonly<Record<string, readonly string[]>>): string {
  return sql
    .replaceAll('$__interval', '5m')
    .replace(/\$__timeFilter\(([^)]+)\)/g, `$1 BETWEEN '${FROM}' AND '${TO}'`)
    .replace(
      /\$__timeGroupAlias\(([^,]+),\s*'?(\d+)([md])'?\)/g,
      (_, column, count, unit) =>
        `floor(extract(epoch from ${column})/${inSeconds(count, unit)})*${inSeconds(count, unit)} AS "time"`,
    )
    .replace(/\$\{(\w+):sqlstring\}/g, (_, name) =>
      (values[name] ?? []).map((value) => `'${value.replaceAll("'", "''")}'`).join(','),
    );
}

function inSeconds(count: string, unit: string): number {
  return Number(count) * (unit === 'm' ? 60 : 86_400);
}

describe('the dashboard on speed to lead', () => {
  test('has panels whose SQL runs and gives rows, as the user that may only look', async () => {
    const ask = await asReader(await withFreshLead());
    const values: Record<string, readonly string[]> = { zone: ['Australia/Sydney'] };
    for (const { name, query } of variables.filter(({ type }) => type === 'query'))
      values[name] = (await ask(query)).rows.map((row) => String(Object.values(row)[0]));
    expect(panels.length).toBeGreaterThan(8);
    for (const { title, targets } of panels)
      for (const { rawSql, format } of targets) {
        const { rows, fields } = await ask(sent(rawSql, values));
        expect(rows.length, title).toBeGreaterThan(0);
        if (format === 'time_series')
          expect(fields.map((field) => field.name).slice(0, 2), title).toEqual(['time', 'metric']);
      }
  });

  test('counts leads by hour of the week in the chosen time zone, and excludes old leads from the speed', async () => {
    const ask = await asReader(await withFreshLead());
    const sqlOf = (title: string) => panels.find((panel) => panel.title === title)?.targets[0]?.rawSql ?? '';
    const all = { source: ['main'], sink: ['warehouse', 'crm'] };
    const service = (await ask('SELECT DISTINCT service_slug FROM v_services')).rows.map(
      (row) => row.service_slug,
    );
    const week = async (zone: string) =>
      (await ask(sent(sqlOf('Leads by hour of the week'), { ...all, service, zone: [zone] }))).rows;
    const total = (rows: readonly Record<string, unknown>[]) =>
      rows
        .flatMap(({ day: _, ...hours }) => Object.values(hours).map(Number))
        .reduce((sum, one) => sum + one, 0);
    const [utc, sydney] = [await week('UTC'), await week('Australia/Sydney')];
    expect(total(utc)).toBe(total(sydney));
    expect(utc).not.toEqual(sydney);
    const speed = (await ask(sent(sqlOf('Speed to lead'), { ...all, service }))).rows;
    expect(speed).toMatchObject([
      { sink: 'crm', leads: '2', 'within a minute': expect.stringMatching(/^0\.0+$/) },
      { sink: 'warehouse', leads: '2', p90: 1 },
    ]);
    // The lead that waits for crm is a day old and more: its present age counts.
    expect(speed[0]?.p50).toBeGreaterThan(86_400);
  });

  test('is refused personal data, and cannot write', async () => {
    const ask = await asReader(await withFreshLead());
    await expect(ask('SELECT * FROM v_leads')).rejects.toThrow('permission denied for view v_leads');
    await expect(ask('DELETE FROM polls')).rejects.toThrow(
      'cannot execute DELETE in a read-only transaction',
    );
    await ask('SET default_transaction_read_only = off');
    await expect(ask('DELETE FROM polls')).rejects.toThrow('permission denied for table polls');
  });

  test('asks a data source that is provisioned, as that user', () => {
    const { datasources } = parse(read('config/monitoring/grafana/provisioning/datasources/leadsync.yaml'));
    const source = datasources.find(({ type }: { type: string }) => type === 'grafana-postgresql-datasource');
    expect(source).toMatchObject({
      user: 'grafana',
      secureJsonData: { password: '$GRAFANA_POSTGRES_PASSWORD' },
    });
    expect(new Set(panels.map((panel) => panel.datasource.type))).toEqual(new Set([source.type]));
    expect(variables.find(({ type }) => type === 'datasource')?.query).toBe(source.type);
    const { environment } = parse(read('compose.yaml')).services.grafana;
    expect(environment).toHaveProperty('GRAFANA_POSTGRES_PASSWORD');
  });
});
