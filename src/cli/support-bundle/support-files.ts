import { cpus, release, totalmem } from 'node:os';
import type { LedgerConfig } from '../../config/contract/config.ts';
import { ConfigError, formatFault } from '../../config/contract/config-error.ts';
import { describeConfig } from '../../config/load-config.ts';
import type { Ledger } from '../../ledger/contract/ledger.ts';
import { sinkTypes } from '../../sinks/registry.ts';
import { statusJson } from '../../status/status-json.ts';
import { askDaemon, daemonTarget } from '../running/ask-daemon.ts';
import { askRunningDaemon } from '../running/running-daemon.ts';
import { buildInfo } from '../shell/build-info.ts';
import {
  exportViewsOf,
  type GlobalOptions,
  lenientConfigOf,
  type Surroundings,
  withLedger,
} from '../shell/context.ts';
import { explainFailure } from '../shell/explain-failure.ts';
import { readLogTail } from './log-tail.ts';

/** One file of a support bundle: its content, or why it was left out. */
export interface SupportFile {
  readonly name: string;
  /** A short description of the content. */
  readonly about: string;
  readonly content: string | undefined;
  readonly leftOut: string | undefined;
}

/** The options that determine a bundle's contents. */
export interface SupportOptions extends GlobalOptions {
  /** A file with leadsync's log, or `-` for standard input. */
  readonly log?: string;
}

/** Maximum number of polls in the bundle. */
const MAX_POLLS = 100;
/** Maximum size of an answer, in bytes. Metrics of hundreds of sinks can be this large. */
const MAX_BYTES = 8 * 1024 * 1024;

/** A file's content is not available. The message says why. */
class NotAvailable extends Error {}

/** Collects diagnostics without lead data or secrets. Leaves out files whose content is not available. */
export async function supportFiles(
  options: SupportOptions,
  surroundings: Surroundings,
): Promise<SupportFile[]> {
  const { stdin, env } = surroundings;
  const config = () => lenientConfigOf(options, surroundings);
  const ofLedger = (read: (ledger: Ledger, config: LedgerConfig) => Promise<unknown>) => async () => {
    const known = config();
    return json(await withLedger(known, surroundings, (ledger) => read(ledger, known)));
  };
  return [
    await file('versions.json', 'leadsync, Node and the operating system', async () => json(versions())),
    await file('config.json', 'every effective value with its origin, secrets masked', async () =>
      json(describeConfig(options.config, { sinkTypes, env })),
    ),
    await file('daemon.json', 'whether leadsync runs, and the state that it reports', async () =>
      json(await askRunningDaemon(config())),
    ),
    await file(
      'status.json',
      'sources, sinks, backlog',
      ofLedger(async (ledger, read) =>
        statusJson(read, await ledger.status(), await exportViewsOf(read, surroundings)),
      ),
    ),
    await file(
      'polls.json',
      `the last ${MAX_POLLS} polls`,
      ofLedger((ledger) => ledger.lastPolls(MAX_POLLS)),
    ),
    await file(
      'ledger.json',
      "the ledger's schema, size and row counts",
      ofLedger((ledger) => ledger.databaseStats()),
    ),
    await file('in-force.json', 'the configuration in force, which may differ from the file', () =>
      answerOf(config(), '/api/v1/configuration'),
    ),
    await file('metrics.prom', 'the answer from /metrics', () => answerOf(config(), '/metrics')),
    await file('log.jsonl', 'the end of the log', () => logOf(options.log, stdin)),
  ];
}

async function file(name: string, about: string, make: () => Promise<string>): Promise<SupportFile> {
  try {
    return { name, about, content: await make(), leftOut: undefined };
  } catch (error) {
    return { name, about, content: undefined, leftOut: reasonOf(error) };
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof NotAvailable) return error.message;
  if (error instanceof ConfigError)
    return `the configuration is invalid: ${error.faults.map(formatFault).join('; ')}`;
  return explainFailure(error).message.split('\n', 1)[0] ?? '';
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function versions() {
  const { version, commit, built, node, sqlite } = buildInfo();
  const { v8, openssl } = process.versions;
  const { platform, arch } = process;
  const machine = { platform, arch, release: release(), cpus: cpus().length, memory_bytes: totalmem() };
  return { leadsync: version, commit, built, node, sqlite, v8, openssl, ...machine };
}

async function answerOf(config: LedgerConfig, path: string): Promise<string> {
  const asked = daemonTarget(config);
  if (!asked) throw new NotAvailable('admin.listen is off');
  const answer = await askDaemon(asked, path, { maxBytes: MAX_BYTES, token: config.adminToken });
  if ('failure' in answer) throw new NotAvailable(`leadsync does not answer: ${answer.failure}`);
  if (answer.status === 401)
    throw new NotAvailable('leadsync requires admin.token, which is different or not available here');
  if (answer.status !== 200) throw new NotAvailable(`leadsync answered with HTTP ${answer.status}`);
  return answer.body;
}

async function logOf(log: string | undefined, stdin: NodeJS.ReadableStream): Promise<string> {
  if (log === undefined)
    throw new NotAvailable('leadsync logs to standard error; name the log file with --log');
  const { lines, others } = await readLogTail(log === '-' ? stdin : log).catch(
    (error: NodeJS.ErrnoException) => {
      throw new NotAvailable(`the log cannot be read (${error.code})`);
    },
  );
  if (lines.length === 0)
    throw new NotAvailable(
      `none of ${others} lines is a JSON log line from leadsync (\`log.format: json\` writes them)`,
    );
  return `${lines.join('\n')}\n`;
}
