import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { isOpenToAnalysts, openToAnalysts, queries, relations } from '../../../../src/catalog/catalog.ts';
import { pasted } from '../../../../src/catalog/query.ts';
import { aDelivery } from '../../../support/scene/a-delivery.ts';
import { uniqueName } from '../../../support/servers/services.ts';
import { openPostgres, startDatabase } from '../database.ts';

const SCRIPT = join(import.meta.dirname, '../../../../deploy/postgres/analyst-role.sql');
const PERSONAL = ['leads', 'lead_answers', 'lead_versions', 'rejected_leads', 'v_leads', '_client_keys'];

async function aStoreWithARole() {
  const database = startDatabase();
  const { url, schema } = database;
  const role = uniqueName('analyst');
  const sink = openPostgres({ url, schema });
  onTestFinished(async () => {
    await sink.close();
    await database.query(`DROP OWNED BY ${role}`);
    await database.query(`DROP ROLE ${role}`);
    await database.close();
  });
  const batch = { id: 'b1', sink: 'warehouse', createdAt: new Date(0), deliveries: [aDelivery()] };
  await sink.deliver(batch, new AbortController().signal);
  const run = () => {
    const variables = ['-v', `schema=${schema}`, '-v', `role=${role}`];
    return execFileSync('psql', [url, '-qX', ...variables, '-f', SCRIPT], {
      encoding: 'utf8',
      stdio: 'pipe',
    });
  };
  run();
  const asAnalyst = (sql: string) => database.query(`BEGIN; SET LOCAL ROLE ${role}; ${sql}; COMMIT`);
  const refused = (sql: string) =>
    asAnalyst(sql).then(
      () => 'allowed',
      async (error: Error) => {
        await database.query('ROLLBACK');
        return error.message;
      },
    );
  return { run, asAnalyst, refused };
}

test('an analyst reads what holds no personal data, and is refused the rest', async () => {
  const { run, refused } = await aStoreWithARole();
  run(); // a second time changes nothing
  const allowed: string[] = [];
  for (const { name } of relations)
    if ((await refused(`SELECT * FROM ${name}`)) === 'allowed') allowed.push(name);
  expect(allowed.sort()).toEqual([...openToAnalysts].sort());
  for (const name of PERSONAL)
    expect(await refused(`SELECT * FROM ${name}`)).toMatch(/^permission denied for (table|view) /);
  expect(await refused('DELETE FROM v_leads_no_pii')).toMatch(/^permission denied/);
});

test('no column that the analyst sees is described as personal data', () => {
  const seen = relations.filter(({ name }) => openToAnalysts.includes(name));
  const columns = seen.flatMap((relation) => relation.columns);
  expect(columns.filter(({ means }) => /(?<!no )personal data\.$/i.test(means))).toEqual([]);
});

test('an analyst can run the documented queries that are described as theirs', async () => {
  const { refused } = await aStoreWithARole();
  const answers: Record<string, boolean> = {};
  for (const query of queries) answers[query.name] = (await refused(pasted(query, 'postgres'))) === 'allowed';
  expect(answers).toEqual(Object.fromEntries(queries.map(({ name, sql }) => [name, isOpenToAnalysts(sql)])));
  expect(Object.values(answers)).toContain(true);
  expect(Object.values(answers)).toContain(false);
});
