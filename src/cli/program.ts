import { Command } from 'commander';
import { asTyped, typedCommand } from '../platform/typed-command.ts';
import { version } from '../platform/version.ts';
import type { AddCommand } from './command.ts';
import { defaultConfigFile, type Surroundings } from './context.ts';
import { EXIT_CODE_MEANINGS } from './exit-code.ts';
import { addOwnCommands, OWN_COMMANDS } from './own-commands.ts';
import { printableLines } from './printable.ts';

type Load = () => Promise<{ readonly command: AddCommand }>;

/** Every command, in the groups in which help lists them. */
const commandGroups: Readonly<Record<string, Readonly<Record<string, Load>>>> = {
  'Set up:': {
    init: () => import('./commands/init.ts'),
    validate: () => import('./commands/validate.ts'),
    config: () => import('./commands/config.ts'),
    plan: () => import('./commands/plan.ts'),
    check: () => import('./commands/check.ts'),
    'test-sink': () => import('./commands/test-sink.ts'),
    'test-alert': () => import('./commands/test-alert.ts'),
    login: () => import('./commands/login.ts'),
    schema: () => import('./commands/schema.ts'),
  },
  'Run:': {
    run: () => import('./commands/run.ts'),
    reload: () => import('./commands/reload.ts'),
    sync: () => import('./commands/sync.ts'),
    worker: () => import('./commands/worker.ts'),
    healthcheck: () => import('./commands/healthcheck.ts'),
  },
  'Look and mend, whether leadsync is running or not:': {
    status: () => import('./commands/status.ts'),
    top: () => import('./commands/top.ts'),
    tail: () => import('./commands/tail.ts'),
    trace: () => import('./commands/trace.ts'),
    deliveries: () => import('./commands/deliveries.ts'),
    query: () => import('./commands/query.ts'),
    export: () => import('./commands/export.ts'),
    preview: () => import('./commands/preview.ts'),
    retry: () => import('./commands/retry.ts'),
    replay: () => import('./commands/replay.ts'),
    reconcile: () => import('./commands/reconcile.ts'),
    pause: () => import('./commands/pause.ts'),
    resume: () => import('./commands/resume.ts'),
    forget: () => import('./commands/forget.ts'),
    erase: () => import('./commands/erase.ts'),
    'export-subject': () => import('./commands/export-subject.ts'),
    moved: () => import('./commands/moved.ts'),
    ledger: () => import('./commands/ledger.ts'),
    recover: () => import('./commands/recover.ts'),
    'support-bundle': () => import('./commands/support-bundle.ts'),
  },
  [OWN_COMMANDS]: {
    version: () => import('./commands/version.ts'),
  },
};

/**
 * The command line for these words: the command that they name, or all of them where they name none. A command comes with packages
 * of its own, which the others need not wait for, nor have in memory. `exit` is told the exit code of the command that ran.
 */
export async function program(
  words: readonly string[],
  surroundings: Surroundings,
  exit: (code: number) => void,
): Promise<Command> {
  const { stdout, stderr, env } = surroundings;
  const command = typedCommand(env);
  const root = new Command(command)
    .exitOverride() // before the commands are added: they inherit it, and what follows
    .configureOutput({
      writeOut: (text) => void stdout.write(asTyped(text, command)),
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
      `Examples:\n${['init', 'check', 'run', 'status'].map((words) => `  $ ${command} ${words}\n`).join('')}`,
    )
    .addHelpText('after', `\n${exitCodes()}`);

  const [asked = ''] = root.parseOptions([...words]).operands;
  if (asked === 'complete-names')
    (await import('./commands/complete-names.ts')).command(root, surroundings, exit);
  const isKnown = Object.values(commandGroups).some((commands) => Object.hasOwn(commands, asked));
  for (const [title, commands] of Object.entries(commandGroups)) {
    root.commandsGroup(title);
    for (const [name, load] of Object.entries(commands)) {
      if (isKnown && name !== asked) continue;
      const { command: add } = await load();
      add(root, surroundings, exit);
    }
  }
  addOwnCommands(root, surroundings);
  return root;
}

/** In two lines, as wide as a terminal. */
function exitCodes(): string {
  const all = [...EXIT_CODE_MEANINGS].map(([code, meaning]) => `${code} ${meaning}`);
  return `Exit codes: ${all.slice(0, 4).join(', ')},\n${all.slice(4).join(', ')}.`;
}
