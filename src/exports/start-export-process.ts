import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { extname } from 'node:path';
import { codeOf } from '../platform/failures/error-code.ts';
import { Secret } from '../platform/options/secret.ts';
import { replacedProgram } from '../platform/process/replaced-program.ts';
import type { ExportConfig, ExportTarget } from './contract/options.ts';
import type { ExportMade, ExportRun } from './export-to-destination.ts';

/** The job for an export process. Its secrets are in plain text, because the job is sent between processes; it is never stored. */
export interface ExportJob {
  readonly config: Omit<ExportConfig, 'target'>;
  readonly target: Readonly<Record<string, unknown>>;
  readonly run: ExportRun;
  /** The data directory's folder for exports: holds locks, and exports until they are moved to a bucket. */
  readonly folder: string;
  readonly niceness: number;
}

/** The result of a run. */
export type ExportResult =
  | ({ readonly kind: 'made' } & ExportMade)
  | { readonly kind: 'failed'; readonly message: string; readonly hint: string }
  /** Another run of the same export is under way. */
  | { readonly kind: 'busy' }
  | { readonly kind: 'stopped' };

/** Maximum time for a process to clean up after SIGTERM, in ms; then it gets SIGKILL. */
const TAKE_BACK_MS = 5_000;

/**
 * Runs an export or backup in a process of its own, so that its CPU time and memory do not affect polls and deliveries. `folder` is the data
 * directory's folder for exports; `niceness` is as in nice(1). Returns every failure of a run as its result.
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
    return {
      ...NOT_STARTED,
      message: `leadsync could not start a process for the export (${codeOf(error)}).`,
    };
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
  hint: 'The machine, or a limit set for leadsync, allows no more processes, memory or open files. Raise the limit, or stop other processes.',
} as const;

const ENDED: ExportResult = {
  kind: 'failed',
  message:
    'The export process ended unexpectedly; another process or the operating system may have killed it.',
  hint: 'The machine may have run out of memory. The next run removes the incomplete files.',
};

/**
 * Starts the program `export-process`, which is beside this file and has the same extension. @throws the error from Node if no process can
 * be started
 */
async function start(): Promise<ChildProcess> {
  const file = new URL(`./export-process${extname(import.meta.url)}`, import.meta.url);
  const child = fork(file, {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    serialization: 'advanced',
    execArgv: [],
  });
  await once(child, 'spawn');
  child.on('error', () => undefined); // sending to a process that has ended fails; its exit is handled
  return child;
}

function plain(target: ExportTarget): Readonly<Record<string, unknown>> {
  const reveal = ([key, value]: [string, unknown]) => [
    key,
    value instanceof Secret ? { secret: value.reveal() } : value,
  ];
  return Object.fromEntries(Object.entries(target).map(reveal));
}

/** Returns the destination of a job, with its secrets wrapped again. */
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
