import { OWN_COMMANDS } from './own-commands.ts';
import type { CompleteCommand } from './shell/command.ts';

/** What the list of commands shows of a command, and where the rest of it is. */
export interface ListedCommand {
  readonly name: string;
  /** Behind the name: `<sink>`. */
  readonly args: readonly string[];
  readonly summary: string;
  /** Loads its options, its help and what it does. */
  readonly load: () => Promise<{ readonly command: CompleteCommand }>;
}

/** Every command, in the groups in which help lists them. Their own files hold what their own help says. */
export const COMMANDS: Readonly<Record<string, readonly ListedCommand[]>> = {
  'Set up:': [
    entry(
      'init [file]',
      'writes a commented configuration to begin with; never overwrites',
      () => import('./commands/init.ts'),
    ),
    entry(
      'validate',
      'is the configuration right? Opens no connection',
      () => import('./commands/validate.ts'),
    ),
    entry(
      'config <what>',
      'shows every value in force with where it comes from; secrets masked',
      () => import('./commands/config.ts'),
    ),
    entry(
      'plan',
      'what a changed configuration would do: leads owed, deliveries kept',
      () => import('./commands/plan.ts'),
    ),
    entry(
      'check',
      'gets a token, reads one listing, checks each sink; changes nothing',
      () => import('./commands/check.ts'),
    ),
    entry(
      'test-sink <sink>',
      'sends one clearly marked test event; the ledger knows nothing of it',
      () => import('./commands/test-sink.ts'),
    ),
    entry(
      'test-alert [name]',
      'sends one test to whom alerts go to, or to one of them',
      () => import('./commands/test-alert.ts'),
    ),
    entry(
      'login <source>',
      'authorization code grant: prints the address to open, takes the code, stores the tokens',
      () => import('./commands/login.ts'),
    ),
    entry(
      'schema',
      'prints the JSON Schema of the configuration (draft-07, for editors)',
      () => import('./commands/schema.ts'),
    ),
  ],
  'Run:': [
    entry(
      'run',
      'the daemon: polls on schedule and delivers until it is stopped',
      () => import('./commands/run.ts'),
    ),
    entry(
      'reload',
      'lets the running leadsync take its changed configuration over',
      () => import('./commands/reload.ts'),
    ),
    entry('sync', 'polls every source once and delivers all that is due', () => import('./commands/sync.ts')),
    entry('worker', 'deliveries alone, beside a `run --no-deliver`', () => import('./commands/worker.ts')),
    entry(
      'healthcheck',
      'does the running leadsync answer? Exit 0 or 1; for containers',
      () => import('./commands/healthcheck.ts'),
    ),
  ],
  'Look and mend, whether leadsync is running or not:': [
    entry('status', 'sources, sinks, backlog, dead letters, last poll', () => import('./commands/status.ts')),
    entry(
      'top',
      'how leads flow, live in the terminal: freshness, backlog, pace, problems',
      () => import('./commands/top.ts'),
    ),
    entry(
      'tail',
      'polls, leads and attempts as they happen, whatever process makes them',
      () => import('./commands/tail.ts'),
    ),
    entry(
      'trace <lead>',
      'everything that ever happened to one lead, as a timeline',
      () => import('./commands/trace.ts'),
    ),
    entry(
      'deliveries',
      'lists deliveries by sink, state, time; shows why each dead one died',
      () => import('./commands/deliveries.ts'),
    ),
    entry(
      'query [sql]',
      'asks the ledger in SQL, or one of the documented questions; changes nothing',
      () => import('./commands/query.ts'),
    ),
    entry(
      'export [output]',
      'takes tables and views of the ledger away: Parquet, CSV, JSON lines or SQLite',
      () => import('./commands/export.ts'),
    ),
    entry(
      'preview',
      'shows the exact request, file or rows that a sink would get of a lead; sends nothing',
      () => import('./commands/preview.ts'),
    ),
    entry(
      'retry [delivery...]',
      'makes dead (or waiting) deliveries due now: by id, by sink, by time',
      () => import('./commands/retry.ts'),
    ),
    entry(
      'replay',
      'owes leads to a sink again, by time or id; the receiver can tell that it is a replay',
      () => import('./commands/replay.ts'),
    ),
    entry(
      'reconcile',
      'compares what was delivered with what a sink really holds; can owe the missing again',
      () => import('./commands/reconcile.ts'),
    ),
    entry(
      'pause <sink>',
      'stops deliveries to a sink; its backlog is kept, also over restarts',
      () => import('./commands/pause.ts'),
    ),
    entry(
      'resume <sink>',
      'goes on after a pause, or tries a held sink now',
      () => import('./commands/resume.ts'),
    ),
    entry(
      'forget <sink>',
      'skips what a removed sink is still owed, for good',
      () => import('./commands/forget.ts'),
    ),
    entry(
      'erase [person]',
      'removes a person from the ledger and PostgreSQL, tells webhooks, and says where else they are',
      () => import('./commands/erase.ts'),
    ),
    entry(
      'export-subject <person>',
      'everything that the ledger holds of a person, as JSON, for a request of access',
      () => import('./commands/export-subject.ts'),
    ),
    entry(
      'moved <source>',
      'says that the service of a source has moved to another address, with the same leads',
      () => import('./commands/moved.ts'),
    ),
    entry(
      'ledger <action> [file]',
      'backup: copies the ledger while leadsync runs; accept: makes a new one where leadsync asks for the old one',
      () => import('./commands/ledger.ts'),
    ),
    entry(
      'recover',
      'makes a new ledger of all that can be read of a damaged one',
      () => import('./commands/recover.ts'),
    ),
    entry(
      'support-bundle',
      'one file for whoever is to help: no lead data, no secret',
      () => import('./commands/support-bundle.ts'),
    ),
  ],
  [OWN_COMMANDS]: [
    entry(
      'version',
      'prints the version, commit and build date, and the versions of Node and SQLite',
      () => import('./commands/version.ts'),
    ),
  ],
};

/** `usage` is the name and the arguments: `pause <sink>`. */
function entry(usage: string, summary: string, load: ListedCommand['load']): ListedCommand {
  const [name = '', ...args] = usage.split(' ');
  return { name, args, summary, load };
}
