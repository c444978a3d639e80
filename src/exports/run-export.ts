import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { extname } from 'node:path';
import { codeOf } from '../platform/failures/error-code.ts';
import { Secret } from '../platform/options/secret.ts';
import { replacedProgram } from '../platform/process/replaced-program.ts';
import type { ExportConfig, ExportTarget } from './contract/options.ts';
import type { ExportMade, ExportRun } from './make-export.ts';

/** What the process of an export is told to do. Secrets are plain in it: it travels from process to process, and is kept nowhere. */
export interface ExportJob {
  readonly config: Omit<ExportConfig, 'target'>;
  readonly target: Readonly<Record<string, unknown>>;
  readonly run: ExportRun;
  /** The data directory's own for exports: of locks, and of what is made to go elsewhere. */
  readonly folder: string;
  readonly niceness: number;
}

/** What a run came to. */
export type ExportResult =
  | ({ readonly kind: 'made' } & ExportMade)
  | { readonly kind: 'failed'; readonly message: string; readonly hint: string }
  /** Another run of the same export is under way. */
  | { readonly kind: 'busy' }
  | { readonly kind: 'stopped' };

/** How long a process that was asked to end may take to take back what it began, in ms. */
const TAKE_BACK_MS = 5_000;

/**
 * Runs an export in a process of its own, so that neither its work nor its memory is in the way of polls and deliveries.
 * `folder` is the data directory's own for exports, `niceness` that of nice(1). Never rejects for what a run may fail of: the result says it.
 */
export async function runExport(
  { target, ...config }: ExportConfig,
  run: ExportRun,
  { folder, niceness }: Pick<ExportJob, 'folder' | 'niceness'>,
  signal: AbortSignal,
): Promise<ExportResult> {
  return inProcess({ config, target: plain(target), run, folder, niceness }, signal);
}

async function inProcess(job: ExportJob, signal: AbortSignal): Promise<ExportResult> {
  if (signal.aborted) return { kind: 'stopped' };
  const replaced = replacedProgram();
  if (replaced) return { kind: 'failed', ...replaced };
  let child: ChildProcess;
  try {
    child = await start();
  } catch (error) {
    return { ...NOT_STARTED, message: `No process could be started for it (${codeOf(error)}).` };
  }
  let insist: NodeJS.Timeout | undefined;
  const ask = () => {
    child.kill('SIGTERM');
    insist = setTimeout(() => child.kill('SIGKILL'), TAKE_BACK_MS);
  };
  signal.addEventListener('abort', ask, { once: true });
  if (signal.aborted) ask();
  let result: ExportResult | undefined;
  child.on('message', (message) => {
    result = message as ExportResult;
  });
  try {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.send(job);
    await ended;
    return result ?? (signal.aborted ? { kind: 'stopped' } : ENDED);
  } finally {
    clearTimeout(insist);
    signal.removeEventListener('abort', ask);
  }
}

const NOT_STARTED = {
  kind: 'failed',
  hint: 'The machine or the limits of the service give no more processes, memory or open files: raise them, or end what takes them.',
} as const;

const ENDED: ExportResult = {
  kind: 'failed',
  message: 'The process of the export was ended from outside.',
  hint: 'The machine may have run out of memory. What it had begun is removed by the next run.',
};

/** Beside this file, and TypeScript or JavaScript as this one is. Throws Node's error when there can be no process. */
async function start(): Promise<ChildProcess> {
  const file = new URL(`./export-process${extname(import.meta.url)}`, import.meta.url);
  const child = fork(file, {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    serialization: 'advanced',
    execArgv: [],
  });
  await once(child, 'spawn');
  child.on('error', () => undefined); // one that has gone takes no message: that it ended is what counts
  return child;
}

function plain(target: ExportTarget): Readonly<Record<string, unknown>> {
  const reveal = ([key, value]: [string, unknown]) => [
    key,
    value instanceof Secret ? { secret: value.reveal() } : value,
  ];
  return Object.fromEntries(Object.entries(target).map(reveal));
}

/** Where the export of a job goes, its secrets hidden again. */
export function targetOf({ target }: Pick<ExportJob, 'target'>): ExportTarget {
  const hide = ([key, value]: [string, unknown]) => [
    key,
    isRevealed(value) ? new Secret(value.secret) : value,
  ];
  return Object.fromEntries(Object.entries(target).map(hide)) as ExportTarget;
}

function isRevealed(value: unknown): value is { readonly secret: string } {
  return typeof value === 'object' && value !== null && 'secret' in value;
}
