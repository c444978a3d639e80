import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { Scene } from '../support/scene/scene.ts';
import { freePort } from '../support/servers/server-process.ts';
import { until } from '../support/time/until.ts';
import type { LedgerOnServer } from './ledgers/ledger-on-server.ts';
import type { MachinePlan } from './plan.ts';
import { Process, type ProcessOptions } from './process.ts';
import type { WatchedWire } from './watched-wire.ts';

/** The configuration of a machine, and the address of its pages. */
export interface Place {
  readonly configFile: string;
  readonly adminUrl: string;
}

/** A machine of the run: a data directory of its own, and processes that are restarted whenever they end. */
export interface Machine extends Place {
  readonly daemon: Process;
  /** Runs only if deliveries do not run in the daemon. */
  readonly worker: Process;
  /** Its line to the server of the ledger; undefined if the ledger is a file. */
  readonly line: WatchedWire | undefined;
}

/** Returns the configuration of each machine. The first has the one of the scene. */
export async function writePlaces(
  { configFile, adminUrl }: Scene,
  folder: string,
  ledger: LedgerOnServer | undefined,
  [, ...lines]: readonly WatchedWire[],
): Promise<Place[]> {
  const places: Place[] = [{ configFile, adminUrl }];
  for (const line of lines) {
    const number = places.length + 1;
    const listen = `127.0.0.1:${await freePort()}`;
    const file = join(folder, `leadsync-${number}.yaml`);
    const config = parse(readFileSync(configFile, 'utf8'));
    const own = {
      data_dir: join(folder, `data-${number}`),
      admin: { ...config.admin, listen },
      ledger: ledger?.section(line),
    };
    writeFileSync(file, stringify({ ...config, ...own }));
    places.push({ configFile: file, adminUrl: `http://${listen}` });
  }
  return places;
}

/** Prepares the processes of a machine. `number` counts from 1. */
export function prepareMachine(
  { configFile, adminUrl }: Place,
  number: number,
  { starts }: MachinePlan,
  line: WatchedWire | undefined,
  {
    say,
    ...options
  }: Pick<ProcessOptions, 'logFolder' | 'excuse'> & {
    readonly say: (part: string, text: string) => void;
  },
): Machine {
  const make = (kind: 'daemon' | 'worker', args: ProcessOptions['args']) => {
    const name = partName(kind, number);
    return new Process({
      ...options,
      name,
      machine: `machine-${number}`,
      args,
      starts: starts[kind],
      say: (text) => say(name, text),
    });
  };
  const config = ['-c', configFile];
  return {
    configFile,
    adminUrl,
    line,
    daemon: make('daemon', ({ deliver }) => ['run', ...(deliver ? [] : ['--no-deliver']), ...config]),
    worker: make('worker', () => ['worker', ...config]),
  };
}

/** Returns the name of a part of a machine; those of the first machine have no number. */
export function partName(kind: string, number: number): string {
  return number === 1 ? kind : `${kind} ${number}`;
}

/** Returns the processes of all machines. */
export function processesOf(machines: readonly Machine[]): Process[] {
  return machines.flatMap(({ daemon, worker }) => [daemon, worker]);
}

/** Waits until the daemon of each machine is ready. A failpoint may end one before that; then it is started again. */
export async function allReady(machines: readonly Place[], withinMs: number): Promise<void> {
  for (const { adminUrl } of machines)
    await until('leadsync is ready', async () => (await fetch(`${adminUrl}/readyz`)).ok, withinMs);
}
