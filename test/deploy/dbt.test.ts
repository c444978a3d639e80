import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { openToAnalysts, relations } from '../../src/catalog/catalog.ts';
import { withFreshLead } from '../catalog/reading-store.ts';
import type { TwoStores } from '../catalog/two-stores.ts';
import { uniqueName } from '../support/servers/services.ts';
import { compiled, type DataTest, folder, inOrder, type Names, readDbtProject } from './dbt-project.ts';

const { sources, models } = readDbtProject();

/** The package run on a schema that leadsync filled: its models are views in a schema of their own. */
class Run {
  readonly schema = uniqueName('dbt');
  readonly #stores: TwoStores;

  constructor(stores: TwoStores) {
    this.#stores = stores;
  }

  get names(): Names {
    return {
      source: (name, table) => {
        const source = sources.find((one) => one.name === name);
        if (!source?.tables.some((one) => one.name === table)) throw new Error(`no source ${name}.${table}`);
        return `${this.#stores.postgres.schema}.${table}`;
      },
      ref: (model) => `${this.schema}.${model}`,
    };
  }

  async build(): Promise<void> {
    await this.ask(`CREATE SCHEMA ${this.schema}`);
    onTestFinished(async () => void (await this.ask(`DROP SCHEMA ${this.schema} CASCADE`)));
    for (const { name, sql } of inOrder(models))
      await this.ask(`CREATE VIEW ${this.schema}.${name} AS ${compiled(sql, this.names)}`);
  }

  async ask(sql: string): Promise<readonly Record<string, unknown>[]> {
    return this.#stores.postgres.query(sql);
  }

  /** How many rows break a data test, by the SQL that dbt documents for it. */
  async broken(table: string, column: string, one: DataTest): Promise<number> {
    const [name, args = {}] = typeof one === 'string' ? [one] : nameAndArguments(one);
    const [row] = await this.ask(
      `SELECT count(*) AS broken FROM (${this.#sqlOf(name, table, column, args)}) x`,
    );
    return Number(row?.['broken']);
  }

  #sqlOf(name: string, table: string, column: string, args: Readonly<Record<string, unknown>>): string {
    if (name === 'not_null') return `SELECT 1 FROM ${table} WHERE ${column} IS NULL`;
    if (name === 'unique')
      return `SELECT 1 FROM ${table} WHERE ${column} IS NOT NULL GROUP BY ${column} HAVING count(*) > 1`;
    if (name === 'accepted_values') {
      const words = (args['values'] as string[]).map((word) => `'${word}'`);
      return `SELECT 1 FROM ${table} WHERE ${column} NOT IN (${words.join(', ')})`;
    }
    if (name === 'relationships') {
      const parent = compiled(`{{ ${args['to']} }}`, this.names);
      return `SELECT 1 FROM ${table} c LEFT JOIN ${parent} p ON p.${args['field']} = c.${column} WHERE c.${column} IS NOT NULL AND p.${args['field']} IS NULL`;
    }
    throw new Error(`dbt has no data test ${name}`);
  }
}

function nameAndArguments(one: Exclude<DataTest, string>) {
  const [[name, { arguments: args }] = ['', { arguments: {} }]] = Object.entries(one);
  return [name, args] as const;
}

async function built(): Promise<{ stores: TwoStores; run: Run }> {
  const stores = await withFreshLead();
  const run = new Run(stores);
  await run.build();
  return { stores, run };
}

describe('deploy/dbt', () => {
  test('has a source for every table and view, separated by what the analysts’ role may read', () => {
    const named = sources.map(({ name, tables }) => [name, tables.map((table) => table.name).sort()]);
    const closed = relations.map(({ name }) => name).filter((name) => !openToAnalysts.includes(name));
    expect(Object.fromEntries(named)).toEqual({
      leadsync: [...openToAnalysts].sort(),
      leadsync_personal: closed.sort(),
    });
    const reading = models.filter(({ sql }) => sql.includes("'leadsync_personal'"));
    expect(reading.map(({ name }) => name)).toEqual(
      models.filter((one) => one.isPersonal).map(({ name }) => name),
    );
  });

  test('has models that run, return rows, and have the described columns', async () => {
    const { run } = await built();
    expect(models.length).toBeGreaterThan(6);
    for (const { name, columns } of models) {
      const rows = await run.ask(`SELECT * FROM ${run.schema}.${name}`);
      expect(Object.keys(rows[0] ?? {}), name).toEqual(columns.map((column) => column.name));
    }
  });

  test('describes a column that a model passes on like its source', () => {
    const said = models.flatMap(({ name: model, sql, columns }) => {
      const tables = sources.flatMap((one) => one.tables);
      const table = tables.find(({ name }) => sql.includes(`from {{ source('leadsync', '${name}') }}`));
      return columns.flatMap(({ name, description }) => {
        const isPassedOn = new RegExp(`^ +${name},?$`, 'm').test(sql) && name !== 'source';
        const origin = isPassedOn ? table?.columns.find((column) => column.name === name) : undefined;
        return origin ? [{ column: `${model}.${name}`, description, means: origin.description }] : [];
      });
    });
    expect(said.length).toBeGreaterThan(40);
    expect(said.map(({ column, description }) => [column, description])).toEqual(
      said.map(({ column, means }) => [column, means]),
    );
  });

  test('has data tests that hold', async () => {
    const { run } = await built();
    const broken: string[] = [];
    let tried = 0;
    const tables = [
      ...sources.flatMap(({ name, tables: all }) =>
        all.map((one) => ({ ...one, at: run.names.source(name, one.name) })),
      ),
      ...models.map((one) => ({ ...one, at: run.names.ref(one.name) })),
    ];
    for (const { at, columns } of tables)
      for (const { name, data_tests: tests = [] } of columns)
        for (const one of tests) {
          tried += 1;
          if ((await run.broken(at, name, one)) > 0) broken.push(`${at}.${name}: ${JSON.stringify(one)}`);
        }
    expect(broken).toEqual([]);
    expect(tried).toBeGreaterThan(50);
  });

  test('has data tests that can fail', async () => {
    const { run } = await built();
    const leads = run.names.ref('stg_leadsync__leads');
    const wrong = { accepted_values: { arguments: { values: ['nothing'] } } };
    expect(await run.broken(leads, 'service_slug', wrong)).toBeGreaterThan(0);
    expect(await run.broken(leads, 'source', 'unique')).toBeGreaterThan(0);
    expect(await run.broken(leads, 'client_key', 'not_null')).toBeGreaterThan(0);
    const stranger = {
      relationships: { arguments: { to: "ref('stg_leadsync__polls')", field: 'poll_key' } },
    };
    expect(await run.broken(leads, 'lead_key', stranger)).toBeGreaterThan(0);
  });

  test('measures freshness by polls that show the state of the service', async () => {
    const { run } = await built();
    const polls = sources.flatMap(({ tables }) => tables).find(({ name }) => name === 'polls');
    const { loaded_at_field: at, freshness } = polls?.config ?? { freshness: { filter: 'false' } };
    const [row] = await run.ask(
      `SELECT max(${at}) AS at, max(finished_at) AS latest FROM ${run.names.source('leadsync', 'polls')} WHERE ${freshness.filter}`,
    );
    expect(row?.['at']).toBeInstanceOf(Date);
    expect(row?.['at']).toEqual(row?.['latest']);
  });

  test('leaves leads from before leadsync out of the delivery times', async () => {
    const { run } = await built();
    const rows = await run.ask(
      `SELECT sink, leads, leads_not_delivered, p50_seconds, leads_within_a_minute FROM ${run.schema}.leadsync_speed_to_lead ORDER BY sink DESC, p50_seconds`,
    );
    const one = { sink: 'warehouse', leads: '1', leads_not_delivered: '0', leads_within_a_minute: '1' };
    const open = {
      sink: 'crm',
      leads: '1',
      leads_not_delivered: '1',
      leads_within_a_minute: '0',
      p50_seconds: expect.any(Number),
    };
    // The first says that it was created at a time that is still to come.
    expect(rows).toEqual([{ ...one, p50_seconds: -68_400 }, { ...one, p50_seconds: 1 }, open, open]);
  });

  test('builds models with personal data only on request', () => {
    const project = parse(readFileSync(join(folder, 'dbt_project.yml'), 'utf8'));
    expect(project.vars.leadsync_personal_data).toBe(false);
    const enabled = "{{ var('leadsync_personal_data', false) }}";
    expect(sources.map(({ name, config }) => [name, config?.enabled])).toEqual([
      ['leadsync', undefined],
      ['leadsync_personal', enabled],
    ]);
  });
});
