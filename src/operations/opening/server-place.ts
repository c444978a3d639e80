import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { LedgerServer } from '../../config/contract/config.ts';
import type { Ledger } from '../../ledger/contract/ledger.ts';
import type { CopySource, CopyTarget } from '../../ledger/contract/ledger-copy.ts';
import type { PageReader } from '../../ledger/contract/ledger-pages.ts';
import type { RunSql, TablesPlace } from '../../ledger/contract/ledger-tables.ts';
import { printLength, printSpan } from '../../platform/text/human-readable.ts';
import type { Clock } from '../../platform/time/clock.ts';
import { LEFT_BEHIND } from './file-place.ts';
import { fileStores, type InstallationStores, type StoreOptions } from './installation-stores.ts';
import type { LedgerPlace, OpenOptions } from './ledger-place.ts';
import { isDataDirInUse, ledgerFile } from './open-ledger.ts';
import { processesOf } from './processes.ts';

/** How far the clock of this machine may be from the server's without a word, in ms. */
const CLOCK_MS = 2_000;
/** How long the server may take to answer without a word, in ms. */
const ROUND_TRIP_MS = 5;

/** The place of a ledger in PostgreSQL: a schema of a database. Loads the driver with the first call that needs the server. */
export class ServerPlace implements LedgerPlace {
  readonly where: string;
  readonly file = undefined;
  readonly whenReplaced =
    'Put the same schema back, then start leadsync again. If the ledger that is there now is the right one, just start leadsync again.';
  readonly whenLost =
    'If ledger.url or ledger.schema names the wrong place, correct it. If the schema was dropped, restore it from a backup of the database. If the ledger is a file, remove ledger.url, or move it to the server with `leadsync ledger copy`. Then start leadsync again.';
  readonly #server: LedgerServer;
  readonly #dataDir: string;

  constructor(server: LedgerServer, dataDir: string) {
    const { host, pathname } = new URL(server.url.reveal());
    this.where = `the schema ${server.schema} of PostgreSQL at ${host}${pathname}`;
    this.#server = server;
    this.#dataDir = dataDir;
  }

  /** Contains the password, so it is made only where it is needed. */
  get tables(): TablesPlace {
    const { url, schema } = this.#server;
    return { kind: 'server', url: url.reveal(), schema };
  }

  async isMissing(): Promise<boolean> {
    const { inspectServer } = await loadInspection();
    return !(await inspectServer(this.#place())).exists;
  }

  remains(): string {
    return '';
  }

  mayExist(): boolean {
    return true;
  }

  async check(signal: AbortSignal, clock: Clock): Promise<string> {
    const { inspectServer } = await loadInspection();
    const found = await inspectServer(this.#place());
    const { exists, isOlder, version, roundTripMs, now, losesCommits, inUseBy, powers } = found;
    const aheadMs = Math.round(now - clock.now().getTime());
    signal.throwIfAborted();
    return [
      `PostgreSQL ${version} answers.`,
      exists ? `The ledger is in ${this.where}.` : `The first run creates the ledger in ${this.where}.`,
      ...(isOlder ? ['An older leadsync wrote it; the next start upgrades it.'] : []),
      ...(inUseBy === undefined ? [] : [`These work on it: ${inUseBy}.`]),
      ...(roundTripMs > ROUND_TRIP_MS
        ? [`An answer takes ${printSpan(roundTripMs)}, which limits how much one process delivers.`]
        : []),
      ...(Math.abs(aheadMs) > CLOCK_MS
        ? [
            `The server's clock is ${printLength(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead of' : 'behind'} this machine's. leadsync goes by the server's; check which one is right.`,
          ]
        : []),
      ...(powers === null
        ? []
        : [
            `leadsync logs in as ${powers}, which it does not need, and with which \`leadsync query\` refuses to run: use a role without these rights.`,
          ]),
      ...(losesCommits
        ? ['synchronous_commit is off on the server; leadsync turns it on for its own sessions.']
        : []),
    ].join(' ');
  }

  async bytes(): Promise<undefined> {}

  /** A ledger in SQLite is a trace, too: with a new ledger on the server, every lead that it knows would go to every sink again. */
  traces(): readonly string[] {
    const sqlite = existsSync(ledgerFile(this.#dataDir)) ? ['ledger.db'] : [];
    return [...sqlite, ...LEFT_BEHIND.filter((name) => existsSync(join(this.#dataDir, name)))];
  }

  setAside(): readonly string[] {
    return [];
  }

  readonly runSql: RunSql = async (query, use) => {
    const { runSql } = await import('../../ledger-postgres/run-sql.ts');
    await runSql(this.#place(), query, use);
  };

  async open(options: OpenOptions): Promise<Ledger> {
    const { openPostgresLedger } = await import('../../ledger-postgres/postgres-ledger.ts');
    return openPostgresLedger({ ...options, ...this.#place(options.holder), isDead: this.#isDead });
  }

  async usedElsewhere(): Promise<string | undefined> {
    if (isDataDirInUse(this.#dataDir)) return undefined;
    const { inspectServer } = await loadInspection();
    return (await inspectServer(this.#place())).inUseBy;
  }

  async liftMove(): Promise<boolean> {
    const { liftMove } = await import('../../ledger-postgres/copying/postgres-copy-source.ts');
    return liftMove(this.#place());
  }

  async copySource(): Promise<CopySource> {
    const { openPostgresSource } = await import('../../ledger-postgres/copying/postgres-copy-source.ts');
    return openPostgresSource(this.#place(), this.#isDead);
  }

  async inspectTarget(source: string): Promise<boolean> {
    const { inspectPostgresTarget } = await import('../../ledger-postgres/copying/postgres-copy-target.ts');
    return inspectPostgresTarget(this.#place(), source, this.#isDead);
  }

  async copyTarget(source: string): Promise<CopyTarget> {
    const { openPostgresTarget } = await import('../../ledger-postgres/copying/postgres-copy-target.ts');
    return openPostgresTarget(this.#place(), source, this.#isDead);
  }

  async openStores(options: StoreOptions): Promise<InstallationStores> {
    if (await this.isMissing()) return fileStores(this.#dataDir, options);
    const { openInstallationStores } = await import('../../ledger-postgres/installation-stores.ts');
    return openInstallationStores(this.#place(), options.clock);
  }

  async openPages(): Promise<PageReader> {
    const { openPostgresPages } = await import('../../ledger-postgres/postgres-pages.ts');
    return openPostgresPages(this.#place());
  }

  /** Whether a process of this data directory is known to be dead. */
  readonly #isDead = (holder: string) => processesOf(this.#dataDir).isDead(holder);

  #place(holder?: string) {
    const { url, schema, connections } = this.#server;
    const applicationName = holder === undefined ? 'leadsync' : `leadsync ${holder}`;
    return { url: url.reveal(), schema, connections, applicationName };
  }
}

function loadInspection() {
  return import('../../ledger-postgres/inspect-server.ts');
}
