import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { accepts, freePort } from '../servers/server-process.ts';
import { until } from '../time/until.ts';
import { noteProcess } from './run-folder.ts';

/** The file that starts leadsync from the source of this checkout, one file for each import. */
export const CHECKOUT = fileURLToPath(new URL('../../../bin/leadsync.js', import.meta.url));
/** The Node flags in the program's shebang line, which apply when the program is run by its name. */
export const NODE_FLAGS: readonly string[] =
  /^#!.* node (.*)$/m.exec(readFileSync(program(), 'utf8'))?.[1]?.split(' ') ?? [];

/** Returns the file that starts leadsync: a bundle of the checkout, if the tool that runs the tests made one; otherwise the source. */
function program(): string {
  return process.env['LEADSYNC_TEST_PROGRAM'] ?? CHECKOUT;
}

/** How a process ended: with an exit code or by a signal. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface FinishedLeadsync extends Exit {
  readonly stdout: string;
  readonly stderr: string;
}

/** A leadsync that runs as a user's would: in its own process, observed from outside. */
export interface RunningLeadsync {
  readonly process: ChildProcess;
  /** What the process has written so far. */
  readonly stdout: string;
  readonly stderr: string;
  /** The lines of standard error that are JSON, parsed. */
  readonly log: readonly Record<string, unknown>[];
  readonly exited: Promise<Exit>;
  /** Sends the signal and waits for the process to end. */
  kill(signal?: NodeJS.Signals): Promise<Exit>;
}

export interface LeadsyncOptions {
  /** The file to start; if absent, the bundle that `npm test` makes of this checkout, or its source. */
  readonly program?: string;
  /** Variables added to this process's own, without those of the test runner. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Written to standard input, which is then closed; without it, standard input is empty. */
  readonly input?: string;
  /** Called with each chunk of standard error. */
  readonly onStderr?: (text: string) => void;
}

/** Starts `leadsync ARGUMENT …` and returns immediately. */
export function startLeadsync(args: readonly string[], options: LeadsyncOptions = {}): RunningLeadsync {
  const child = spawn(process.execPath, [...NODE_FLAGS, options.program ?? program(), ...args], {
    cwd: options.cwd,
    env: { ...ownEnvironment(), ...options.env },
    stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    // In its own process group, a Ctrl-C at the terminal reaches it only through this process.
    detached: true,
  });
  noteProcess(child);
  const written = { stdout: '', stderr: '' };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    written.stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    written.stderr += text;
    options.onStderr?.(text);
  });
  child.stdin?.end(options.input);
  const exited = new Promise<Exit>((resolve, reject) => {
    child.once('error', reject);
    // Wait for 'close', not 'exit': by then all output has been read.
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  return {
    process: child,
    exited,
    get stdout() {
      return written.stdout;
    },
    get stderr() {
      return written.stderr;
    },
    get log() {
      return jsonLines(written.stderr);
    },
    kill: (signal = 'SIGTERM') => {
      child.kill(signal);
      return exited;
    },
  };
}

/** A command that takes longer hangs, however busy the machine is. Shorter than a test's limit, so that the error shows the output. */
const HANGS_MS = 600_000;

/** Runs `leadsync ARGUMENT …` to its end. Kills a command that hangs, and throws its output. */
export async function runLeadsync(
  args: readonly string[],
  options: LeadsyncOptions = {},
): Promise<FinishedLeadsync> {
  const leadsync = startLeadsync(args, options);
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    leadsync.process.kill('SIGKILL');
  }, HANGS_MS);
  const exit = await leadsync.exited;
  clearTimeout(timer);
  const { stdout, stderr } = leadsync;
  if (late)
    throw new Error(`leadsync ${args.join(' ')} did not end within ${HANGS_MS} ms.\n${stdout}\n${stderr}`);
  return { ...exit, stdout, stderr };
}

/** A running daemon and its admin address. */
export interface Daemon extends RunningLeadsync {
  /** `http://127.0.0.1:…`, which serves its probes and metrics. */
  readonly adminUrl: string;
}

/**
 * Starts `leadsync run` (or with other `args`) on a configuration file and waits until it reports that it is ready.
 * @throws Error with its output, if it ends before that or takes more than 20 s
 */
export async function startDaemon(
  configFile: string,
  adminUrl: string,
  options: LeadsyncOptions & { readonly args?: readonly string[] } = {},
): Promise<Daemon> {
  const leadsync = startLeadsync([...(options.args ?? ['run']), '-c', configFile], options);
  let exit: Exit | undefined;
  void leadsync.exited.then(
    (ended) => {
      exit = ended;
    },
    () => {
      exit = { code: null, signal: null };
    },
  );
  const port = Number(new URL(adminUrl).port);
  // A refused request costs seven times the CPU time of a refused connection, and many are refused before the daemon listens.
  const ready = async () =>
    exit !== undefined || ((await accepts(port)) && (await fetch(`${adminUrl}/readyz`)).ok);
  try {
    await until('leadsync is ready', ready, 20_000);
  } catch (error) {
    leadsync.process.kill('SIGKILL');
    throw new Error(`leadsync did not become ready.\n${leadsync.stderr}`, { cause: error });
  }
  if (exit !== undefined) {
    throw new Error(
      `leadsync ended at once (${exit.signal ?? exit.code}).\n${leadsync.stdout}${leadsync.stderr}`,
    );
  }
  return Object.assign(leadsync, { adminUrl });
}

/** A folder with a configuration, and the admin address of its daemon. */
export interface ConfiguredFolder {
  readonly configFile: string;
  readonly adminUrl: string;
  readonly dataDir: string;
}

/**
 * Writes `leadsync.yaml` into a folder: the given parts, plus `data_dir`, JSON logs and an `admin.listen` on a free port unless the parts
 * set them. Parts of `admin` are added to that address.
 */
export async function writeConfig(
  folder: string,
  parts: Readonly<Record<string, unknown>>,
): Promise<ConfiguredFolder> {
  mkdirSync(folder, { recursive: true });
  const listen = `127.0.0.1:${await freePort()}`;
  const { admin, ...others } = parts;
  const config = {
    data_dir: './data',
    log: { format: 'json' },
    ...others,
    admin: { listen, ...(admin as object | undefined) },
  };
  const configFile = join(folder, 'leadsync.yaml');
  writeFileSync(configFile, stringify(config));
  return { configFile, adminUrl: `http://${listen}`, dataDir: join(folder, 'data') };
}

/** Drops the variables that the test runner set: leadsync must not know that it is being tested. */
function ownEnvironment(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) =>
      !/^(VITEST|LEADSYNC_)/.test(name) &&
      !['NODE_ENV', 'NODE_OPTIONS', 'NODE_COMPILE_CACHE', 'TEST', 'FORCE_COLOR'].includes(name),
  );
  return Object.fromEntries(own);
}

function jsonLines(text: string): Record<string, unknown>[] {
  return text.split('\n').flatMap((line) => {
    try {
      const value: unknown = JSON.parse(line);
      return isObject(value) ? [value] : [];
    } catch {
      // Not every line is JSON: messages for people occur between them.
      return [];
    }
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
