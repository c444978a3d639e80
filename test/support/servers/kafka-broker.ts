import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { noteProcess } from '../program/run-folder.ts';
import { ended, firstExecutable, stopProcess } from './server-process.ts';

/** A record as kcat, a consumer by the authors of librdkafka, reads it. */
export interface ReadRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  /** Time of the record, in ms since 1970. */
  readonly ts: number;
  readonly key: string | null;
  readonly payload: string | null;
  /** Headers by name. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The mock broker of librdkafka on loopback, in memory. Creates topics at their first use, with four partitions. */
export interface KafkaBroker {
  readonly address: string;
  readonly port: number;
  /** The process, for signals such as SIGSTOP. */
  readonly process: ChildProcess;
  /** Returns all records of a topic, partition by partition, in order of their offsets. */
  records(topic: string): Promise<readonly ReadRecord[]>;
  close(): Promise<void>;
}

/** Returns the path of kcat, or undefined. */
export function findKcat(): string | undefined {
  return firstExecutable('kcat', ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin']);
}

/** Maximum bytes of what kcat prints. */
const MAX_OUTPUT = 512 * 1024 * 1024;

/** Starts a broker on a free port. @throws Error if kcat is not installed or does not start */
export async function startKafkaBroker(): Promise<KafkaBroker> {
  const mock = ['-b', 'unused', '-X', 'test.mock.num.brokers=1', '-d', 'mock'];
  // A consumer of an unused topic: its purpose is the broker in it.
  const broker = spawn(kcat(), ['-C', '-q', '-t', 'unused', ...mock], {
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  noteProcess(broker);
  const port = await Promise.race([portOf(broker), ended(broker, 'kcat')]);
  const address = `127.0.0.1:${port}`;
  return {
    address,
    port,
    process: broker,
    records: (topic) => readRecords(address, topic),
    // Everything is in memory, and kcat takes seconds to end by itself.
    close: () => stopProcess(broker, 'SIGKILL'),
  };
}

/** Returns all records of a topic, as kcat reads them from a broker. */
async function readRecords(address: string, topic: string): Promise<readonly ReadRecord[]> {
  const args = ['-C', '-q', '-e', '-J', '-b', address, '-t', topic, '-o', 'beginning'];
  const { stdout } = await promisify(execFile)(kcat(), args, { maxBuffer: MAX_OUTPUT });
  const records = stdout.split('\n').filter(Boolean).map(readRecord);
  return records.sort((a, b) => a.partition - b.partition || a.offset - b.offset);
}

/** kcat prints headers as a list of names and values by turns. */
function readRecord(line: string): ReadRecord {
  const { headers = [], ...record } = JSON.parse(line);
  const pairs = Array.from({ length: headers.length / 2 }, (_, at) => headers.slice(2 * at, 2 * at + 2));
  return { ...record, headers: Object.fromEntries(pairs) };
}

/** Resolves when the broker says where it listens; reads on, so that it never waits for a reader. */
function portOf(broker: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    if (!broker.stderr) throw new Error('kcat has no standard error');
    createInterface(broker.stderr).on('line', (line) => {
      const [, port] = /bootstrap\.servers=127\.0\.0\.1:(\d+)/.exec(line) ?? [];
      if (port) resolve(Number(port));
    });
  });
}

function kcat(): string {
  const path = findKcat();
  if (path === undefined) throw new Error('kcat is not installed: `npm test` installs it.');
  return path;
}
