import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { freePort } from '../servers/server-process.ts';
import { until } from '../time/until.ts';
import { noteProcess } from './run-folder.ts';

/** The file that starts leadsync. `npm test` bundles the checkout for it; otherwise it is the source. */
const PROGRAM =
  process.env['LEADSYNC_TEST_PROGRAM'] ?? fileURLToPath(new URL('../../../bin/leadsync.js', import.meta.url));
/** The flags for Node that the program's first line asks for: whoever runs it by its name gets them. */
export const NODE_FLAGS: readonly string[] =
  /^#!.* node (.*)$/m.exec(readFileSync(PROGRAM, 'utf8'))?.[1]?.split(' ') ?? [];

/** How a process ended: by a code or by a signal. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface FinishedLeadsync extends Exit {
  readonly stdout: string;
  readonly stderr: string;
}

/** A leadsync that runs as a user's would: a process of its own, seen from outside. */
export interface RunningLeadsync {
  readonly process: ChildProcess;
  /** What it has written until now. */
  readonly stdout: string;
  readonly stderr: string;
  /** Its standard error as JSON, a line each; lines that are no JSON are left out. */
  readonly log: readonly Record<string, unknown>[];
  readonly exited: Promise<Exit>;
  /** Sends the signal and waits for the end. */
  kill(signal?: NodeJS.Signals): Promise<Exit>;
}

export interface LeadsyncOptions {
  /** The file to start; that of this checkout when absent. */
  readonly program?: string;
  /** Beside this process's own variables, without those of the test runner. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Written to its standard input, which is then closed; without it there is none. */
  readonly input?: string;
  /** Called with each piece of standard error. */
  readonly onStderr?: (text: string) => void;
}

/** Starts `leadsync ARGUMENT …` and returns at once. */
export function startLeadsync(args: readonly string[], options: LeadsyncOptions = {}): RunningLeadsync {
  const child = spawn(process.execPath, [...NODE_FLAGS, options.program ?? PROGRAM, ...args], {
    cwd: options.cwd,
    env: { ...ownEnvironment(), ...options.env },
    stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    // In a process group of its own a Ctrl-C at the terminal reaches it only through us.
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
    // 'close' and not 'exit': by then all that it wrote has been read.
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

/** A command that takes longer than this hangs, however busy the machine is. Shorter than the limit of a test, so that it says what was printed. */
const HANGS_MS = 600_000;

/** Runs `leadsync ARGUMENT …` to its end. Kills a command that hangs, and throws what it printed. */
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

/** A running daemon, and where it can be asked how it is. */
export interface Daemon extends RunningLeadsync {
  /** `http://127.0.0.1:…` of its probes and metrics. */
  readonly adminUrl: string;
}

/**
 * Starts `leadsync run` (or with other `args`) on a configuration file and waits until it says that it is ready.
 * @throws Error with what it wrote, when it ends before that or takes more than 20 s
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
  const ready = async () => exit !== undefined || (await fetch(`${adminUrl}/readyz`)).ok;
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

/** A folder with a configuration in it, and the address at which its daemon can be asked. */
export interface ConfiguredFolder {
  readonly configFile: string;
  readonly adminUrl: string;
  readonly dataDir: string;
}

/**
 * Writes `leadsync.yaml` into a folder: the given parts, with `data_dir`, JSON logs and an `admin.listen` on a free
 * port where the parts do not say otherwise.
 */
export async function writeConfig(
  folder: string,
  parts: Readonly<Record<string, unknown>>,
): Promise<ConfiguredFolder> {
  mkdirSync(folder, { recursive: true });
  const listen = `127.0.0.1:${await freePort()}`;
  const config = { data_dir: './data', admin: { listen }, log: { format: 'json' }, ...parts };
  const configFile = join(folder, 'leadsync.yaml');
  writeFileSync(configFile, stringify(config));
  return { configFile, adminUrl: `http://${listen}`, dataDir: join(folder, 'data') };
}

/** Without what the test runner put there: leadsync must not know that it is tested. */
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
      // Not every line is JSON: messages for people stand between.
      return [];
    }
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
