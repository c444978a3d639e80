import { figureOf } from './figure.ts';
import type { Wanted } from './leadsync-under-test.ts';
import type { Use } from './process-use.ts';
import type { Figure } from './report/report.ts';
import { LEDGER_SCHEMA, settleDisk } from './servers.ts';
import type { Workbench } from './workbench.ts';

/** Where a leadsync keeps its ledger. */
export type Engine = 'PostgreSQL' | 'SQLite';

/** What the server of a ledger did for a run; everything is about 0 if the ledger is a file. */
export interface ServerUse {
  /** CPU time of all processes of the server. */
  readonly serverCpuMs: number;
  readonly writtenAheadMb: number;
  readonly transactions: number;
}

/** Returns the part of a configuration that says where the ledger is. */
export async function ledgerIn({ servers }: Workbench, engine: Engine): Promise<Pick<Wanted, 'ledger'>> {
  return engine === 'SQLite' ? {} : ledgerAt(await servers.database());
}

function ledgerAt({ url }: { readonly url: string }): Pick<Wanted, 'ledger'> {
  return { ledger: { url, schema: LEDGER_SCHEMA } };
}

/** Runs `run` once more with a server that counts statements. Returns the figure, or none if there is no such server. */
export async function statementsOf(
  { servers, tell }: Workbench,
  { name, leads }: { readonly name: string; readonly leads: number },
  run: (ledger: Pick<Wanted, 'ledger'>) => Promise<unknown>,
): Promise<Figure[]> {
  const database = await servers.counting();
  if (database === undefined) return [];
  tell('counting statements');
  await database.reset();
  const before = await database.statements();
  await run(ledgerAt(database));
  const statements = (await database.statements()) - before;
  return [figureOf(name, '', { leadsync: [(statements / leads) * 1000] }, (value) => value)];
}

/** Removes what earlier runs left on the server, and lets its disk and the machine's come to rest. */
export async function freshServer({ servers }: Workbench): Promise<void> {
  await (await servers.database()).reset();
  settleDisk();
}

/** Returns the result of a run, with what the server did meanwhile. */
export async function withServer<Result extends object>(
  { servers }: Workbench,
  run: () => Promise<Result>,
): Promise<Result & ServerUse> {
  const database = await servers.database();
  const before = [database.cpuMs(), await database.writtenAheadMb(), await database.transactions()] as const;
  const result = await run();
  return {
    ...result,
    serverCpuMs: database.cpuMs() - before[0],
    writtenAheadMb: (await database.writtenAheadMb()) - before[1],
    transactions: (await database.transactions()) - before[2],
  };
}

/** A run of a process, and what the server of its ledger did for it. */
export type EngineUse = Use & ServerUse;
