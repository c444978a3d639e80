import { ABOUT_COMMANDS } from './help-commands.ts';
import type { CompleteCommand } from './shell/command.ts';

/** A command's entry in the list of commands, and how to load the command. */
export interface ListedCommand {
  readonly name: string;
  /** The arguments after the name: `<sink>`. */
  readonly args: readonly string[];
  readonly summary: string;
  /** Loads the command's options, help and action. */
  readonly load: () => Promise<{ readonly command: CompleteCommand }>;
}

/** The commands by their group in the help; `addAboutCommands` adds further ones. The file of each command holds the rest of its help. */
export const COMMANDS: Readonly<Record<string, readonly ListedCommand[]>> = {
  'Set up:': [
    entry(
      'init [file]',
      'creates a commented configuration; never overwrites a file',
      () => import('./commands/init.ts'),
    ),
    entry(
      'validate',
      'checks the configuration without opening a connection',
      () => import('./commands/validate.ts'),
    ),
    entry(
      'config <what>',
      'shows every effective value with its origin; secrets are masked',
      () => import('./commands/config.ts'),
    ),
    entry(
      'plan',
      'shows what a changed configuration would do: leads owed, deliveries kept',
      () => import('./commands/plan.ts'),
    ),
    entry(
      'check',
      'gets tokens, reads each listing once, checks each sink; delivers nothing',
      () => import('./commands/check.ts'),
    ),
    entry(
      'setup <sink>',
      "shows what a sink's destination lacks, and creates it with --yes",
      () => import('./commands/setup.ts'),
    ),
    entry(
      'fields <sink>',
      "lists the fields of a sink's destination, for its mapping",
      () => import('./commands/fields.ts'),
    ),
    entry(
      'test [sink]',
      'runs the tests of the mappings, or tries them on recorded leads; sends nothing',
      () => import('./commands/test.ts'),
    ),
    entry(
      'test-sink <sink>',
      'sends one clearly marked test event; the ledger does not record it',
      () => import('./commands/test-sink.ts'),
    ),
    entry(
      'test-alert [name]',
      'sends a test alert to every alert destination, or to one of them',
      () => import('./commands/test-alert.ts'),
    ),
    entry(
      'login <source>',
      'logs a person in (authorization code grant) and stores the tokens',
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
      'starts the daemon, which polls on schedule and delivers until it is stopped',
      () => import('./commands/run.ts'),
    ),
    entry(
      'reload',
      'makes the running leadsync apply its changed configuration',
      () => import('./commands/reload.ts'),
    ),
    entry(
      'sync',
      'polls every source once and delivers everything that is due',
      () => import('./commands/sync.ts'),
    ),
    entry(
      'poll [source]',
      'polls now, in the running leadsync, and prints what it found',
      () => import('./commands/poll.ts'),
    ),
    entry('worker', 'only delivers; runs alongside `run --no-deliver`', () => import('./commands/worker.ts')),
    entry(
      'healthcheck',
      'checks whether the running leadsync answers: exit 0 or 1; for containers',
      () => import('./commands/healthcheck.ts'),
    ),
  ],
  'Inspect and operate, whether leadsync is running or not:': [
    entry(
      'status [sink]',
      'shows sources, sinks, backlog, dead letters and problems',
      () => import('./commands/status.ts'),
    ),
    entry(
      'top',
      'shows the flow of leads live: freshness, backlog, throughput, problems',
      () => import('./commands/top.ts'),
    ),
    entry(
      'tail',
      'prints polls, leads and attempts of every process as they happen',
      () => import('./commands/tail.ts'),
    ),
    entry(
      'find <text>',
      'finds leads by part of the name, email address or phone number',
      () => import('./commands/find.ts'),
    ),
    entry(
      'trace <lead>',
      'shows the complete history of one lead as a timeline',
      () => import('./commands/trace.ts'),
    ),
    entry(
      'deliveries',
      'lists deliveries by sink, state or time, with the reason for each dead one',
      () => import('./commands/deliveries.ts'),
    ),
    entry(
      'rejected [id]',
      'lists the leads that could not be recorded, with the fault in each',
      () => import('./commands/rejected.ts'),
    ),
    entry(
      'query [sql]',
      'queries the ledger with SQL or a documented query; read-only',
      () => import('./commands/query.ts'),
    ),
    entry(
      'export [output]',
      'exports tables and views of the ledger as Parquet, CSV, JSON Lines or SQLite',
      () => import('./commands/export.ts'),
    ),
    entry(
      'preview',
      'shows the exact request, file or rows that a sink would get for a lead; sends nothing',
      () => import('./commands/preview.ts'),
    ),
    entry(
      'retry [delivery...]',
      'makes dead or pending deliveries due now: by id, sink, reason or time',
      () => import('./commands/retry.ts'),
    ),
    entry(
      'discard [delivery...]',
      'gives up dead deliveries, with a note, so that they no longer cause alerts',
      () => import('./commands/discard.ts'),
    ),
    entry(
      'replay',
      'delivers leads to a sink again, by time or id, or those that `where` left out',
      () => import('./commands/replay.ts'),
    ),
    entry(
      'cancel-replay <sink>',
      'skips the deliveries that replays owe to a sink and that are still pending',
      () => import('./commands/cancel-replay.ts'),
    ),
    entry(
      'reconcile',
      'compares the ledger with what a sink holds; can deliver missing leads again',
      () => import('./commands/reconcile.ts'),
    ),
    entry(
      'pause <sink>',
      'stops deliveries to a sink, across restarts; its backlog is kept',
      () => import('./commands/pause.ts'),
    ),
    entry('resume <sink>', 'ends a pause, or probes a held sink now', () => import('./commands/resume.ts')),
    entry(
      'forget <sink>',
      'permanently skips the pending deliveries of a removed sink',
      () => import('./commands/forget.ts'),
    ),
    entry(
      'erase [person]',
      "erases a person's data from the ledger, databases and CRMs, notifies webhooks, and lists the other places",
      () => import('./commands/erase.ts'),
    ),
    entry(
      'export-subject <person>',
      'prints everything that the ledger holds about a person as JSON, for a data access request',
      () => import('./commands/export-subject.ts'),
    ),
    entry(
      'moved <source>',
      "confirms that a source's service has moved to a new address and still lists the same leads",
      () => import('./commands/moved.ts'),
    ),
    entry(
      'backup [name]',
      'writes a verified backup to a folder or a bucket, also while leadsync runs',
      () => import('./commands/backup.ts'),
    ),
    entry(
      'restore [backup]',
      'verifies a backup, describes the consequences, and puts it in place with --yes',
      () => import('./commands/restore.ts'),
    ),
    entry(
      'ledger <action>',
      'accept: creates a new ledger although an earlier one was lost; copy: moves the ledger to PostgreSQL or back',
      () => import('./commands/ledger.ts'),
    ),
    entry(
      'recover',
      'rebuilds a damaged ledger from everything that can be read',
      () => import('./commands/recover.ts'),
    ),
    entry(
      'support-bundle',
      'collects diagnostics in one file, without lead data or secrets',
      () => import('./commands/support-bundle.ts'),
    ),
  ],
  [ABOUT_COMMANDS]: [
    entry(
      'version',
      'prints the version, commit and build date, and the versions of Node and SQLite',
      () => import('./commands/version.ts'),
    ),
  ],
};

/** Returns the entry of a command. `usage` is the command's name followed by its arguments: `pause <sink>`. */
function entry(usage: string, summary: string, load: ListedCommand['load']): ListedCommand {
  const [name = '', ...args] = usage.split(' ');
  return { name, args, summary, load };
}
