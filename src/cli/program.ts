import { Command } from 'commander';
import { rewriteCommands, typedCommand } from '../platform/process/typed-command.ts';
import { version } from '../platform/process/version.ts';
import { printableLines } from '../platform/text/printable.ts';
import { COMMANDS, type ListedCommand } from './command-table.ts';
import { addAboutCommands } from './help-commands.ts';
import type { Surroundings } from './shell/context.ts';
import { defaultConfigFile } from './shell/default-config.ts';
import { EXIT_CODE_MEANINGS } from './shell/exit-code.ts';

/**
 * Returns the Commander program with the command that `words` name, or with every command if they name none. Loads only the commands that will run or
 * whose full help will be shown. The action of a command calls `exit` with its exit code.
 */
export async function program(
  words: readonly string[],
  surroundings: Surroundings,
  exit: (code: number) => void,
): Promise<Command> {
  const { stdout, stderr, env } = surroundings;
  const command = typedCommand(env);
  const root = new Command(command)
    .exitOverride() // before the commands are added, because they inherit these settings
    .configureOutput({
      writeOut: (text) => void stdout.write(rewriteCommands(text, env)),
      writeErr: (text) => void stderr.write(printableLines(text)), // messages quote the user's words
    })
    .showHelpAfterError('`leadsync --help` lists the commands.')
    .configureHelp({ showGlobalOptions: true })
    .description(
      'Delivers every new lead from a lead listing service to webhooks, CRMs, databases, files and people.',
    )
    .version(version)
    .option(
      '-c, --config <file>',
      'the configuration file; LEADSYNC_CONFIG changes the default',
      defaultConfigFile(env),
    )
    .addHelpText(
      'before',
      `Examples:\n${['init', 'check', 'run', 'status'].map((words) => `  $ ${command} ${words}\n`).join('')}`,
    )
    .addHelpText('after', `\n${exitCodes()}`);

  const [asked = '', about = ''] = root.parseOptions([...words]).operands;
  if (asked === 'complete-names')
    (await import('./commands/complete-names.ts')).command(root.command(asked), surroundings, exit);
  const isKnown = Object.values(COMMANDS).some((group) => group.some(({ name }) => name === asked));
  const isShown = isShownAtLength(asked, about);
  for (const [title, group] of Object.entries(COMMANDS)) {
    root.commandsGroup(title);
    for (const listed of isKnown ? group.filter(({ name }) => name === asked) : group) {
      const command = root.command(listed.name).description(listed.summary);
      if (isShown(listed)) (await listed.load()).command(command, surroundings, exit);
      if (command.registeredArguments.length === 0) for (const arg of listed.args) command.argument(arg);
    }
  }
  addAboutCommands(root, surroundings);
  return root;
}

/** Returns a function that decides whether a command must be loaded: it will run, or its full help will be shown. */
function isShownAtLength(asked: string, about: string): (command: ListedCommand) => boolean {
  if (asked === 'man' || asked === 'completion') return () => true;
  return ({ name }) => name === (asked === 'help' ? about : asked);
}

/** Returns the exit codes in two lines that fit a terminal. */
function exitCodes(): string {
  const all = [...EXIT_CODE_MEANINGS].map(([code, meaning]) => `${code} ${meaning}`);
  return `Exit codes: ${all.slice(0, 4).join(', ')},\n${all.slice(4).join(', ')}.`;
}
