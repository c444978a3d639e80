import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Config, SinkConfig } from '../config/config.ts';
import type { Clock } from '../platform/clock.ts';
import { DeadlinePassed, withinDeadline } from '../platform/deadline.ts';
import { SinkUnavailable } from '../sinks/sink.ts';
import { ledgerFile } from './open-ledger.ts';
import { openSink } from './open-sinks.ts';

/** How long a sink and Redis may take to answer, in ms: leadsync waits for them before it starts. */
const ANSWER_MS = 5_000;

/** What only a leadsync that had a ledger leaves in the data directory. Tokens are not among it: `login` and `check` come first. */
const LEFT_BEHIND = ['processes', 'alerts.json', 'audit.jsonl', 'erased.jsonl', 'ledger.db-wal'];

/** There is no ledger, and a new one would bring every lead to every sink again. */
export class NewLedgerRefused extends Error {
  override readonly name = 'NewLedgerRefused';
  readonly hint =
    'If data_dir is not mounted, mount it. If ledger.db was removed or cut off, restore it from a backup. Then start again. If a new ledger is meant, `leadsync ledger accept` makes it.';
}

/** Whether there is no ledger yet: no file, or an empty one. */
export function lacksLedger(dataDir: string): boolean {
  const { size = 0 } = statSync(ledgerFile(dataDir), { throwIfNoEntry: false }) ?? {};
  return size === 0;
}

/**
 * Makes sure that a missing ledger may be made: `ledger.create` says so, or nothing shows that there was one. Looks at the data
 * directory, the sinks and Redis; one that does not answer in time shows nothing. Only for the process that holds the data directory.
 * @throws NewLedgerRefused
 */
export async function requireNewInstallation(config: Config, clock: Clock): Promise<void> {
  const { dataDir, ledgerCreate } = config;
  if (!lacksLedger(dataDir) || ledgerCreate === 'always') return;
  const missing = `There is no ledger in ${dataDir}${existsSync(ledgerFile(dataDir)) ? ': ledger.db is empty' : ''}`;
  if (ledgerCreate === 'never') throw new NewLedgerRefused(`${missing}, and \`ledger.create\` is never.`);
  const traces = await tracesOf(config, clock);
  if (traces.length === 0) return;
  throw new NewLedgerRefused(
    `${missing}, but this installation is not new: ${traces.join('; ')}. With a new ledger every listed lead would go to every sink again.`,
  );
}

async function tracesOf(config: Config, clock: Clock): Promise<readonly string[]> {
  const left = LEFT_BEHIND.filter((name) => existsSync(join(config.dataDir, name)));
  const sources = new Set(config.sources.map(({ name }) => name));
  const held = config.sinks
    .filter(({ enabled }) => enabled)
    .map((sink) => answered((signal) => heldBy(sink, sources, clock, signal)));
  const found = await Promise.all([...held, answered((signal) => queueOf(config, signal))]);
  const inFolder = left.length > 0 ? [`data_dir holds ${left.join(', ')}`] : [];
  return [...inFolder, ...found.filter((trace) => trace !== undefined)];
}

/** A lead of these sources that the destination holds, in words; undefined when it holds none or cannot tell. */
async function heldBy(
  config: SinkConfig,
  sources: ReadonlySet<string>,
  clock: Clock,
  signal: AbortSignal,
): Promise<string | undefined> {
  const sink = openSink(config, clock);
  try {
    for await (const { source, leadId, file } of sink.holds?.(signal) ?? [])
      if (sources.has(source))
        return `sink ${config.name} holds lead ${leadId} of ${source}${file ? ` in ${file}` : ''}`;
    return undefined;
  } finally {
    await sink.close();
  }
}

async function queueOf({ queue: { redisUrl, prefix } }: Config, signal: AbortSignal) {
  if (!redisUrl) return undefined;
  const { readMarker } = await import('../delivery/queue-marker.ts'); // with the queue's packages, which few need
  const ledger = await readMarker(redisUrl, prefix, signal);
  return ledger && `Redis holds the mark of ledger ${ledger} under ${prefix}`;
}

/** What is away now is no reason not to start. */
async function answered(
  ask: (signal: AbortSignal) => Promise<string | undefined>,
): Promise<string | undefined> {
  try {
    return await withinDeadline(ANSWER_MS, new AbortController().signal, ask);
  } catch (error) {
    if (error instanceof SinkUnavailable || error instanceof DeadlinePassed) return undefined;
    throw error;
  }
}
