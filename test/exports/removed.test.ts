import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { relations } from '../../src/catalog/catalog.ts';
import { type ExportRequest, exportTables } from '../../src/exports/files/export-tables.ts';
import { Install } from '../cli/an-install.ts';
import { aListedLead } from '../support/scene/a-lead.ts';

const LEADS = 20;

const LAYOUTS = [
  { format: 'csv', layout: 'file', tables: ['leads'] },
  { format: 'sqlite', layout: 'file', tables: ['leads'] },
  { format: 'csv', layout: 'folder', tables: ['leads', 'deliveries'] },
  { format: 'csv', layout: 'days', tables: ['leads'] },
] as const;

async function anExport({ format, layout, tables }: (typeof LAYOUTS)[number]): Promise<ExportRequest> {
  const install = new Install({ sinks: {} });
  const ledger = await install.recorded(
    Array.from({ length: LEADS }, (_, at) => aListedLead({ id: at + 1 }, at)),
  );
  await ledger.close();
  mkdirSync(join(install.folder, 'out'));
  return {
    ledger: { kind: 'file' as const, file: join(install.folder, 'data', 'ledger.db') },
    output: join(install.folder, 'out', 'made'),
    format,
    relations: relations.filter(({ name }) => tables.some((table) => table === name)),
    layout,
    since: undefined,
    exportedAt: new Date(0),
  };
}

/** Runs the export, and calls `remove` once, when rows of its last table were written. */
async function interrupted(request: ExportRequest, remove: () => void): Promise<void> {
  const last = request.relations.at(-1)?.name;
  let isDone = false;
  const reportProgress = (table: string, rows: number, done: string) => {
    if (isDone || table !== last || rows === 0 || done === 'sorted') return;
    isDone = true;
    remove();
  };
  await exportTables(request, reportProgress, new AbortController().signal);
}

test.each(LAYOUTS)('an export fails if its file is removed while it is written: %j', async (setting) => {
  const request = await anExport(setting);
  const out = join(request.output, '..');
  const remove = () => {
    for (const name of readdirSync(out)) rmSync(join(out, name), { recursive: true });
  };
  await expect(interrupted(request, remove)).rejects.toMatchObject({
    name: 'TemporaryRemoved',
    message: `The temporary files of ${request.output} were removed before they were complete.`,
  });
  expect(readdirSync(out)).toEqual([]);
});

test.each(LAYOUTS)('an export does not create its folder again if it vanishes: %j', async (setting) => {
  const request = await anExport(setting);
  const out = join(request.output, '..');
  await expect(interrupted(request, () => rmSync(out, { recursive: true }))).rejects.toMatchObject({
    code: 'ENOENT',
  });
  expect(existsSync(out)).toBe(false);
});

test('an export of several files fails if one of them is removed after it was written', async () => {
  const request = await anExport(LAYOUTS[2]);
  const out = join(request.output, '..');
  const remove = () => {
    for (const name of readdirSync(out)) rmSync(join(out, name, 'leads.csv'));
  };
  await expect(interrupted(request, remove)).rejects.toMatchObject({ name: 'TemporaryRemoved' });
  expect(readdirSync(out)).toEqual([]);
});
