import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { disk } from '../../../src/platform/files/file-system.ts';
import { anAnsweringStorage } from '../../exports/answering-storage.ts';
import { parquetRows } from '../../exports/read-parquet.ts';
import { aStorage } from '../../exports/storage.ts';
import { type Arrived, type Destination, promisesOfEverySink } from '../contract.ts';
import { openInBucket, PREFIX } from '../drop/open-in-bucket.ts';
import { closedPort } from '../ports.ts';
import { openParquet } from './open-parquet.ts';

promisesOfEverySink('parquet', start);
promisesOfEverySink('parquet, in a bucket', startInBucket);

async function start(): Promise<Destination> {
  const root = mkdtempSync(join(tmpdir(), 'leadsync-test-'));
  const directory = join(root, 'drop');
  const file = join(root, 'file');
  writeFileSync(file, '');
  return {
    open: (parts) => openParquet(directory, disk, parts),
    openUnavailable: () => openParquet(join(file, 'drop')),
    openHanging: () => openParquet(directory, { ...disk, create: () => new Promise(() => undefined) }),
    arrived: async () => {
      const names = filesIn(directory).filter((name) => name.endsWith('.parquet'));
      const rows = await Promise.all(names.map((name) => parquetRows(join(directory, name))));
      return rows.flat().map(arrived);
    },
    received: () =>
      Promise.all(
        filesIn(directory).map(async (name) => ({
          target: `file ${join(directory, name)}`,
          fields: {},
          content: (await parquetRows(join(directory, name))).map(jsonLine).join(''),
        })),
      ),
    documented: (text) => text.replaceAll('\0', '\ufffd').toWellFormed(),
    documentedAnswer: (text) => text.replaceAll('\0', '\ufffd').toWellFormed(),
    close: async () => rmSync(root, { recursive: true }),
  };
}

async function startInBucket(): Promise<Destination> {
  const storage = await aStorage();
  return {
    open: (parts) => openInBucket('parquet', storage, {}, parts),
    openUnavailable: () => openInBucket('parquet', storage, { endpoint: `http://127.0.0.1:${closedPort}` }),
    openHanging: async () => openInBucket('parquet', await anAnsweringStorage(() => 'silence')),
    arrived: async () => {
      const keys = storage.keys().filter((key) => key.startsWith(PREFIX) && key.endsWith('.parquet'));
      const rows = await Promise.all(keys.map((key) => parquetRows(storage.fileOf(key))));
      return rows.flat().map(arrived);
    },
    received: () =>
      Promise.all(
        storage.keys().map(async (key) => ({
          target: `s3://exports/${key}`,
          fields: {},
          content: (await parquetRows(storage.fileOf(key))).map(jsonLine).join(''),
        })),
      ),
    documented: (text) => text.replaceAll('\0', '\ufffd').toWellFormed(),
    documentedAnswer: (text) => text.replaceAll('\0', '\ufffd').toWellFormed(),
    close: async () => undefined,
  };
}

function arrived(row: Record<string, unknown>): Arrived {
  const text = (name: string) => row[name] as string;
  return {
    source: text('source'),
    id: String(row['id']),
    client_name: text('client_name'),
    client_phone_number: text('client_phone_number'),
    client_address: row['client_address'] as string | null,
    all_details_one_liner: text('all_details_one_liner'),
    answers: JSON.parse(text('service_question_answers')),
  };
}

function jsonLine(row: Record<string, unknown>): string {
  return `${JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? Number(value) : value))}\n`;
}

/** With the folders of the days. */
function filesIn(directory: string): string[] {
  try {
    const entries = readdirSync(directory, { recursive: true, encoding: 'utf8' });
    return entries.filter((name) => /\.(parquet|test|tmp)$/.test(name)).sort();
  } catch {
    return []; // nothing has been delivered: the folder is not there
  }
}
