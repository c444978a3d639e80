import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { disk } from '../../../src/platform/files/file-system.ts';
import { restoreCell } from '../../../src/platform/text/formula-injection.ts';
import type { SinkParts } from '../../../src/sinks/sink-type.ts';
import { anAnsweringStorage } from '../../exports/answering-storage.ts';
import { aStorage } from '../../exports/storage.ts';
import { promisesOfAnswers } from '../answers-contract.ts';
import { type Arrived, type Destination, promisesOfEverySink } from '../contract.ts';
import { openInBucket, PREFIX } from '../drop/open-in-bucket.ts';
import { openCsv } from './open-csv.ts';

promisesOfEverySink('csv', () => start('neutralise'));
promisesOfEverySink('csv, formulas kept', () => start('keep'));
promisesOfEverySink('csv, in a bucket', startInBucket);

promisesOfAnswers('csv, in a bucket', {
  cut: async () => {
    let puts = 0;
    const storage = await anAnsweringStorage(({ method }) => {
      if (method !== 'PUT') return undefined;
      puts += 1;
      return puts === 1 ? 'done and cut' : undefined;
    });
    return {
      sink: openInBucket('csv', storage),
      arrived: async () => {
        const files = [...storage.objects.values()].map((content) => content.toString());
        return readFiles(files, restoreCell).map(({ id }) => id);
      },
      close: async () => undefined,
    };
  },
  vague: async () => ({
    sink: openInBucket('csv', await anAnsweringStorage(() => [200, '<html>Welcome</html>'])),
    arrived: async () => [],
    close: async () => undefined,
  }),
});

async function start(formulas: 'neutralise' | 'keep'): Promise<Destination> {
  const root = mkdtempSync(join(tmpdir(), 'leadsync-test-'));
  const directory = join(root, 'drop');
  const file = join(root, 'file');
  writeFileSync(file, '');
  const open = (directory: string, files = disk, parts: Partial<SinkParts> = {}) =>
    openCsv({ directory, formulas }, files, { batchMax: 1000, ...parts });
  return {
    open: (parts) => open(directory, disk, parts),
    openUnavailable: () => open(join(file, 'drop')),
    openHanging: () => open(directory, { ...disk, create: () => new Promise(() => undefined) }),
    arrived: async () =>
      readFiles(
        namesIn(directory).map((name) => readFileSync(join(directory, name), 'utf8')),
        formulas === 'neutralise' ? restoreCell : (cell) => cell,
      ),
    received: async () =>
      allNamesIn(directory).map((name) => ({
        target: `file ${join(directory, name)}`,
        fields: {},
        content: readFileSync(join(directory, name), 'utf8'),
      })),
    documented: (text) => text.replaceAll('\0', '\ufffd').toWellFormed(),
    documentedAnswer: (text) => text,
    close: async () => rmSync(root, { recursive: true }),
  };
}

async function startInBucket(): Promise<Destination> {
  const storage = await aStorage();
  return {
    open: (parts) => openInBucket('csv', storage, {}, parts),
    openUnavailable: () => openInBucket('csv', storage, { to: 's3://nobodys/leads' }),
    openHanging: async () => openInBucket('csv', await anAnsweringStorage(() => 'silence')),
    arrived: async () => {
      const keys = storage.keys().filter((key) => key.startsWith(PREFIX) && key.endsWith('.csv'));
      return readFiles(keys.map(storage.read), restoreCell);
    },
    received: async () =>
      storage
        .keys()
        .map((key) => ({ target: `s3://exports/${key}`, fields: {}, content: storage.read(key) })),
    documented: (text) => text.replaceAll('\0', '\ufffd').toWellFormed(),
    documentedAnswer: (text) => text,
    close: async () => undefined,
  };
}

/** As a reader is told to: every file that is there, by a parser that is not ours. */
function readFiles(files: readonly string[], restore: (cell: string) => string): Arrived[] {
  return files.flatMap((file) => {
    const rows: Record<string, string>[] = parse(file, { columns: true });
    return rows.map((row) => {
      const cell = (column: string) => restore(row[column] ?? '');
      return {
        source: cell('_leadsync_source'),
        id: cell('id'),
        client_name: cell('client_name'),
        client_phone_number: cell('client_phone_number'),
        client_address: cell('client_address'),
        all_details_one_liner: cell('all_details_one_liner'),
        answers: JSON.parse(cell('service_question_answers')),
      };
    });
  });
}

/** What a reader picks up that takes every CSV file. */
function namesIn(directory: string): string[] {
  return allNamesIn(directory).filter((name) => name.endsWith('.csv'));
}

function allNamesIn(directory: string): string[] {
  try {
    return readdirSync(directory).sort();
  } catch {
    // Nothing has been delivered: the folder is not there.
    return [];
  }
}
