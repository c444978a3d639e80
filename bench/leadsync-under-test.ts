import { type Daemon, startDaemon, startLeadsync, writeConfig } from '../test/support/program/leadsync.ts';
import { installedProgram } from './built-program.ts';
import { type Use, useOf } from './process-use.ts';
import { newFolder, type Workbench } from './workbench.ts';

/** A leadsync with its configuration, in a folder of its own. */
export interface Install {
  readonly configFile: string;
  readonly adminUrl: string;
  readonly dataDir: string;
}

/** The configuration of a leadsync. */
export interface Wanted {
  readonly sinks?: Readonly<Record<string, unknown>>;
  readonly redisUrl?: string;
  /** The section `ledger`; default: the ledger is a file. */
  readonly ledger?: Readonly<Record<string, unknown>>;
  /** The poll interval, such as `1s`: of every source, or of each by name. */
  readonly every?: string | Readonly<Record<string, string>>;
  /** The names of the sources; default: `main`. */
  readonly sources?: readonly string[];
  /** The folder; default: a new one. */
  readonly folder?: string;
}

/** Writes the configuration of a leadsync that reads the benchmark's services. */
export async function install(workbench: Workbench, wanted: Wanted = {}): Promise<Install> {
  const source = (name: string) => {
    const every = typeof wanted.every === 'object' ? wanted.every[name] : wanted.every;
    return {
      base_url: workbench.world.baseUrl(name),
      client_id: 'bench',
      client_secret: 'bench',
      ...(every === undefined ? {} : { poll: { every } }),
    };
  };
  return writeConfig(wanted.folder ?? newFolder(workbench), {
    sources: Object.fromEntries((wanted.sources ?? ['main']).map((name) => [name, source(name)])),
    ...(wanted.sinks === undefined ? {} : { sinks: wanted.sinks }),
    ...(wanted.ledger && { ledger: wanted.ledger, tokens: { encryption_key: 'a passphrase for every run' } }),
    ...(wanted.redisUrl === undefined ? {} : { queue: { redis_url: wanted.redisUrl } }),
  });
}

/** Returns a webhook sink that signs its requests and has a concurrency of 50. */
export function webhookTo(url: string): Readonly<Record<string, unknown>> {
  return { type: 'webhook', url, secret: SECRET, concurrency: 50 };
}

/** Returns a webhook sink that signs its requests and has default options. */
export function defaultWebhookTo(url: string): Readonly<Record<string, unknown>> {
  return { type: 'webhook', url, secret: SECRET };
}

const SECRET = `whsec_${Buffer.alloc(32, 'bench').toString('base64')}`;

/** Runs the built leadsync with these arguments to its end. @throws Error with its output, if the exit code is not the expected one */
export async function runLeadsync(
  workbench: Workbench,
  { configFile }: Install,
  args: readonly string[],
  options: { readonly exitCode?: number; readonly onStart?: (pid: number | undefined) => void } = {},
): Promise<Use> {
  const { env } = workbench;
  const program = await installedProgram(workbench);
  let output = () => '';
  let code: number | null = null;
  const use = await useOf(() => {
    const leadsync = startLeadsync([...args, '-c', configFile], { program, env });
    options.onStart?.(leadsync.process.pid);
    output = () => `${leadsync.stdout}${leadsync.stderr}`;
    const exited = leadsync.exited.then((exit) => {
      code = exit.code;
    });
    return { process: leadsync.process, exited };
  });
  if (code === (options.exitCode ?? 0)) return use;
  throw new Error(`leadsync ${args.join(' ')} ended with ${code}.\n${output()}`);
}

/** Starts `leadsync run`, calls `act` once it is ready, and stops it, also if `act` fails. */
export async function whileRunning<Result>(
  workbench: Workbench,
  { configFile, adminUrl }: Install,
  act: (daemon: Daemon) => Promise<Result>,
): Promise<Result> {
  const { env } = workbench;
  const program = await installedProgram(workbench);
  const daemon = await startDaemon(configFile, adminUrl, { program, env });
  try {
    return await act(daemon);
  } finally {
    await daemon.kill();
  }
}
