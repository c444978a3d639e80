import { Command, InvalidArgumentError } from 'commander';
import { version } from '../platform/version.ts';
import { run } from './commands/run.ts';
import { sync } from './commands/sync.ts';
import { worker } from './commands/worker.ts';
import type { Surroundings } from './context.ts';

/** The command line as a whole. `exit` is told the exit code of the command that ran. */
export function program(surroundings: Surroundings, exit: (code: number) => void): Command {
  const root = new Command('leadsync')
    .exitOverride() // before the commands are added: they inherit it
    .description('Brings every new lead from a lead listing service to webhooks, CSV files and PostgreSQL.')
    .version(version)
    .option(
      '-c, --config <file>',
      'the configuration',
      surroundings.env['LEADSYNC_CONFIG'] ?? 'leadsync.yaml',
    );

  root
    .command('run')
    .description('the daemon: polls on schedule and delivers until it is stopped')
    .option('--no-deliver', 'leave the deliveries to `leadsync worker`')
    .addHelpText(
      'before',
      examples('leadsync run', 'leadsync run -c /etc/leadsync.yaml', 'leadsync run --no-deliver'),
    )
    .action(async (_options, command: Command) => exit(await run(command.optsWithGlobals(), surroundings)));

  root
    .command('sync')
    .description('polls every source once and delivers all that is due')
    .option('--json', 'print the result as JSON')
    .addHelpText('before', examples('leadsync sync', 'leadsync sync --json'))
    .action(async (_options, command: Command) => exit(await sync(command.optsWithGlobals(), surroundings)));

  root
    .command('worker')
    .description('deliveries alone, beside a `run --no-deliver`')
    .option('--listen <host:port>', 'serve probes and metrics of this worker there', parseAddress)
    .addHelpText('before', examples('leadsync worker', 'leadsync worker --listen 127.0.0.1:9465'))
    .action(async (_options, command: Command) =>
      exit(await worker(command.optsWithGlobals(), surroundings)),
    );

  return root;
}

function examples(...lines: string[]): string {
  return `Examples:\n${lines.map((line) => `  $ ${line}`).join('\n')}\n`;
}

function parseAddress(text: string): { host: string; port: number } {
  const match = /^(?:\[([0-9a-f:]+)\]|([^:]+)):(\d{1,5})$/i.exec(text);
  if (!match || Number(match[3]) > 65_535)
    throw new InvalidArgumentError('It must be HOST:PORT, such as 127.0.0.1:9465.');
  return { host: (match[1] ?? match[2]) as string, port: Number(match[3]) };
}
