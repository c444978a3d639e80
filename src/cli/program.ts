import { Command } from 'commander';
import { didYouMean } from '../config/suggest.ts';
import { version } from '../platform/version.ts';
import { check } from './commands/check.ts';
import { config } from './commands/config.ts';
import { deliveries } from './commands/deliveries.ts';
import { erase } from './commands/erase.ts';
import { exportCommand } from './commands/export.ts';
import { exportSubject } from './commands/export-subject.ts';
import { forget } from './commands/forget.ts';
import { healthcheck } from './commands/healthcheck.ts';
import { init } from './commands/init.ts';
import { login } from './commands/login.ts';
import { moved } from './commands/moved.ts';
import { pause } from './commands/pause.ts';
import { plan } from './commands/plan.ts';
import { preview } from './commands/preview.ts';
import { query } from './commands/query.ts';
import { reconcile } from './commands/reconcile.ts';
import { reload } from './commands/reload.ts';
import { replay } from './commands/replay.ts';
import { resume } from './commands/resume.ts';
import { retry } from './commands/retry.ts';
import { run } from './commands/run.ts';
import { schema } from './commands/schema.ts';
import { status } from './commands/status.ts';
import { supportBundle } from './commands/support-bundle.ts';
import { sync } from './commands/sync.ts';
import { tail } from './commands/tail.ts';
import { testAlert } from './commands/test-alert.ts';
import { testSink } from './commands/test-sink.ts';
import { top } from './commands/top.ts';
import { trace } from './commands/trace.ts';
import { validate } from './commands/validate.ts';
import { worker } from './commands/worker.ts';
import { defaultConfigFile, type Surroundings } from './context.ts';
import { ExitCode } from './exit-code.ts';
import { CommandFailure } from './failure.ts';
import { printable, printableLines } from './printable.ts';

/** The command line as a whole. `exit` is told the exit code of the command that ran. */
export function program(surroundings: Surroundings, exit: (code: number) => void): Command {
  const { stdout, stderr, env } = surroundings;
  const root = new Command('leadsync')
    .exitOverride() // before the commands are added: they inherit it, and what follows
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(printableLines(text)), // it repeats the words that were wrong
    })
    .showHelpAfterError('`leadsync --help` lists the commands.')
    .configureHelp({ showGlobalOptions: true })
    .description('Brings every new lead from a lead listing service to webhooks, CSV files and PostgreSQL.')
    .version(version)
    .option(
      '-c, --config <file>',
      'the configuration; without it the one that LEADSYNC_CONFIG names',
      defaultConfigFile(env),
    )
    .addHelpText(
      'before',
      'Examples:\n  $ leadsync init\n  $ leadsync check\n  $ leadsync run\n  $ leadsync status\n',
    )
    .addHelpText('after', `\n${EXIT_CODES}`);

  root.commandsGroup('Set up:').helpCommand(false); // its own says nothing about a command that does not exist
  addHelp(root);
  for (const add of [init, validate, config, plan, check, testSink, testAlert, login, schema])
    add(root, surroundings, exit);
  root.commandsGroup('Run:');
  for (const add of [run, reload, sync, worker, healthcheck]) add(root, surroundings, exit);
  root.commandsGroup('Look and mend, whether leadsync is running or not:');
  for (const add of [
    status,
    top,
    tail,
    trace,
    deliveries,
    query,
    exportCommand,
    preview,
    retry,
    replay,
    reconcile,
    pause,
    resume,
    forget,
    erase,
    exportSubject,
    moved,
    supportBundle,
  ])
    add(root, surroundings, exit);
  return root;
}

function addHelp(root: Command): void {
  root
    .command('help [command]')
    .description('shows how a command is used')
    .action((name?: string) => {
      const known = root.commands.map((command) => command.name());
      const command = name === undefined ? root : root.commands.find((one) => one.name() === name);
      if (command) command.help();
      const nearest = didYouMean(String(name), known);
      throw new CommandFailure(
        ExitCode.usage,
        `There is no command "${printable(String(name))}"${nearest ? `: ${nearest}` : '.'}`,
        `The commands are: ${known.join(', ')}.`,
      );
    });
}

const EXIT_CODES = `Exit codes: 0 done, 1 not done, 2 wrong usage, 69 something could not be reached,
75 another leadsync holds the data directory, 78 the configuration is wrong.`;
