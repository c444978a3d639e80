import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import type { Sink } from '../../../src/sinks/sink.ts';
import { testBatch } from '../../../src/sinks/test-batch.ts';
import { naughtyStrings } from '../../hostile/corpora.ts';
import { ownStrings } from '../../hostile/own-strings.ts';
import { aBatch, aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { type Database, startDatabase } from '../postgres/database.ts';
import { openExec, ProgramFolder } from './open-exec.ts';

const README = readFileSync(new URL('../../../src/sinks/exec/README.md', import.meta.url), 'utf8');
const NEVER = new AbortController().signal;

let folder: ProgramFolder;
let database: Database;
let sink: Sink;
beforeEach(async () => {
  folder = new ProgramFolder();
  database = startDatabase();
  await database.query(`CREATE SCHEMA ${database.schema}`);
  const [, create = ''] = /Before the first lead: `([^`]+)`/.exec(README) ?? [];
  await database.query(create);
  const [, load = ''] = /`command: \[psql.*?```sql\n(.*?)```/s.exec(README) ?? [];
  folder.file('load.sql', load);
  const { username, password, hostname, port, pathname } = new URL(database.url);
  const env = {
    PGHOST: hostname,
    PGPORT: port || '5432',
    PGUSER: decodeURIComponent(username),
    ...(password && { PGPASSWORD: decodeURIComponent(password) }),
    PGDATABASE: pathname.slice(1),
    PGOPTIONS: `-c search_path=${database.schema}`,
  };
  sink = openExec({ command: ['psql', '-qX', '-f', 'load.sql'], cwd: folder.path, env });
});
afterEach(async () => {
  await sink.close();
  await database.close();
  folder.remove();
});

test('psql stores hostile text unchanged, once, and passes a test event by', async () => {
  const texts = [...ownStrings, ...(naughtyStrings ?? []), '\\.', 'a"b', "'; DROP TABLE inbox; --"];
  const storable = texts.map((text) => text.replaceAll('\0', '').toWellFormed()); // jsonb has no NUL
  const batch = aBatch(
    storable.map((text, at) =>
      aDelivery({
        id: `d${at}`,
        leadId: BigInt(at + 1),
        raw: aLead({ id: at + 1, all_details_one_liner: text }),
      }),
    ),
  );
  for (let times = 0; times < 2; times += 1)
    expect(new Set((await sink.deliver(batch, NEVER)).map(({ kind }) => kind))).toEqual(
      new Set(['delivered']),
    );
  expect((await sink.test(testBatch('sink', new Date(0)), NEVER)).arrived).toBe(true);
  const rows = await database.query(
    "SELECT event -> 'data' ->> 'all_details_one_liner' AS text FROM inbox ORDER BY substr(delivery, 2)::int",
  );
  expect(rows.map(({ text }) => text)).toEqual(storable);
});

test('psql refuses the lead alone that jsonb cannot hold, and a missing table refuses none', async () => {
  const deliveries = [1, 2, 3].map((id) =>
    aDelivery({ leadId: BigInt(id), raw: aLead({ id, all_details_one_liner: id === 2 ? '\0' : 'text' }) }),
  );
  const outcomes = await sink.deliver(aBatch(deliveries), NEVER);
  expect(outcomes.map(({ kind }) => kind)).toEqual(['delivered', 'refused', 'delivered']);
  await database.query('DROP TABLE inbox');
  await expect(sink.deliver(aBatch(3), NEVER)).rejects.toThrow('psql ended with exit code 3.');
});

test('the pipeline fails if its first program fails in the example of the README', async () => {
  const [, written = '[]'] = /name a shell \[.*?\]\(#shells\): `(\[.*?\])`/.exec(README) ?? [];
  const command = parse(written.replaceAll('\\|', '|')) as string[];
  folder.file('jq', '#!/bin/sh\nread -r first && echo "$first"; exit 5\n', 0o755);
  const piping = openExec({
    command,
    cwd: folder.path,
    env: { PATH: `${folder.path}:${process.env['PATH']}` },
  });
  onTestFinished(() => piping.close());
  await expect(piping.deliver(aBatch(2), NEVER)).rejects.toThrow('ended with exit code 5');
  folder.file('jq', '#!/bin/sh\ncat\n', 0o755);
  expect((await piping.deliver(aBatch(2), NEVER)).map(({ kind }) => kind)).toEqual([
    'delivered',
    'delivered',
  ]);
});
