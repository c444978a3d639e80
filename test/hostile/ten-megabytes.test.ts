import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { restoreCell } from '../../src/platform/text/formula-injection.ts';
import type { Daemon } from '../support/program/leadsync.ts';
import { aLead } from '../support/scene/a-lead.ts';
import { aScene } from '../support/scene/a-scene.ts';
import { csvFiles, type Scene, SINKS } from '../support/scene/scene.ts';
import { until } from '../support/time/until.ts';
import { python, readByPython, readRows } from './csv-reading.ts';
import { asText } from './hostile-lead.ts';
import { readLedger } from './read-ledger.ts';

/** What one sink or another escapes, doubles, replaces or passes over, and what is of two, three and four bytes. */
const CHARACTERS = ['"', '\\', '\0', '\u200b', '💩'];
const BYTES = 10 * 1024 * 1024;
/**
 * Escaped one by one, quotes and backslashes alone took gigabytes. Ten megabytes of NUL are sixty of JSON, which the listing,
 * the ledger and three sinks hold at once, some of it twice, beside a form that JSON functions can read: 1,200 to 1,500 MB, and up to
 * 1,700 where eight processes share two cores, because less of it is done by the time that the next begins.
 */
const MOST_MB = 2_000;
/** Of which JavaScript may hold so much in each thread: 400 is too little. What is only waiting to be collected does not count. */
const MOST_HEAP_MB = 700;

const WHERE_MEASURED = process.platform === 'linux' ? '' : ' (NOT measured here: there is no /proc)';

test(`ten megabytes of one character arrive whole at every sink, whatever the character, in less than ${MOST_MB} MB of memory${WHERE_MEASURED}`, async () => {
  const scene = await aScene('in-process', {
    source: { max_lead_size: '64mb' },
    sinks: {
      crm: { timeout: '60s' },
      drop: { batch: { max: 1, wait: '0s' } },
      warehouse: { batch: { max: 1 } },
    },
  });
  const daemon = await scene.start({ env: { NODE_OPTIONS: `--max-old-space-size=${MOST_HEAP_MB}` } });
  const names = CHARACTERS.map((character) => character.repeat(BYTES / Buffer.byteLength(character)));
  const raws = names.map((client_name, at) => aLead({ id: at + 1, client_name }));
  for (const [at, raw] of raws.entries()) {
    scene.stub.addRaw(raw);
    await until(
      `${JSON.stringify(CHARACTERS[at])} is everywhere`,
      () => isEverywhere(scene, at + 1),
      100_000,
    );
    scene.stub.removeRaw(raw);
  }
  expectLittleMemory(daemon);
  expect((await daemon.kill()).code).toBe(0);
  expect(daemon.log.filter(({ level }) => level === 'error')).toEqual([]);
  // Texts of this length are compared without showing them.
  expect(
    scene.receiver.received.map(({ body }) =>
      raws.findIndex((raw) => body.includes(`"data":${raw},"source"`)),
    ),
  ).toEqual([...raws.keys()]);
  expect(await inTable(scene)).toEqual(
    names.map((name, at) => [hash('md5', asText(name)), hash('md5', raws[at] ?? '')]),
  );
  const cells = new Map(readRows(scene.drop).map((row) => [Number(row['id']), row['client_name'] ?? '']));
  expect(names.filter((name, at) => restoreCell(cells.get(at + 1) ?? '') !== asText(name)).length).toBe(0);
  if (python !== undefined) expectSameByPython(scene, cells);
});

function isEverywhere(scene: Scene, leads: number): boolean {
  return (
    readLedger(scene, "SELECT 1 FROM deliveries WHERE state = 'delivered'").length === SINKS.length * leads
  );
}

function expectLittleMemory({ process: { pid } }: Daemon): void {
  if (WHERE_MEASURED !== '') return;
  const [, peak] = /VmHWM:\s*(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  process.stderr.write(`At most ${Math.round(Number(peak) / 1024)} MB of memory were used.\n`);
  expect(Number(peak) / 1024).toBeLessThan(MOST_MB);
}

async function inTable({ schema, query }: Scene): Promise<unknown[]> {
  const rows = await query<{ name: string; raw: string }>(
    `SELECT md5(client_name) AS name, md5(coalesce(_leadsync_original, _leadsync_raw::text)) AS raw FROM ${schema}.leads ORDER BY id`,
  );
  return rows.map(({ name, raw }) => [name, raw]);
}

function expectSameByPython({ drop }: Scene, cells: ReadonlyMap<number, string>): void {
  for (const file of csvFiles(drop)) {
    const [[header = [], row = []] = []] = readByPython([join(drop, file)]);
    const cell = row[header.indexOf('client_name')];
    expect(cell === cells.get(Number(row[header.indexOf('id')])), `python3 reads ${file} the same`).toBe(
      true,
    );
  }
}
