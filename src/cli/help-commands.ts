import { Argument, type Command } from 'commander';
import { printable } from '../platform/text/printable.ts';
import { didYouMean } from '../platform/text/suggest.ts';
import { SHELLS, type Shell } from './completion/shells.ts';
import { describeCommand } from './shell/command.ts';
import { CommandFailure } from './shell/command-failure.ts';
import type { Surroundings } from './shell/context.ts';
import { ExitCode } from './shell/exit-code.ts';

/** The title of the group of commands about leadsync itself. All but `version` need access to every other command. */
export const ABOUT_COMMANDS = 'About leadsync:';

/** Adds `help`, `completion` and `man`, which show the commands that `root` has when they run. */
export function addAboutCommands(root: Command, { stdout, clock }: Surroundings): void {
  root.commandsGroup(ABOUT_COMMANDS).helpCommand(false); // Commander's own `help` prints nothing for an unknown command
  addHelp(root);
  const completion = root
    .command('completion')
    .description('prints a completion script for bash, zsh or fish')
    .addArgument(new Argument('<shell>', 'the shell that will read the script').choices(SHELLS))
    .action(async (shell: Shell) => {
      const { completionScript } = await import('./completion/script.ts');
      stdout.write(completionScript(shell, root));
    });
  describeCommand(completion, {
    examples: [
      'leadsync completion bash > ~/.local/share/bash-completion/completions/leadsync',
      'leadsync completion zsh > "${fpath[1]}/_leadsync"',
      'leadsync completion fish > ~/.config/fish/completions/leadsync.fish',
      'source <(leadsync completion bash)',
    ],
    notes:
      'The script completes commands, options and their values, including the names of sinks, sources and exports in the configuration.',
  });
  const man = root
    .command('man')
    .description('prints the manual page')
    .action(async () => {
      const { manPage } = await import('./man-page.ts');
      stdout.write(manPage(root, clock.now()));
    });
  describeCommand(man, {
    examples: ['leadsync man | man -l -', 'leadsync man > leadsync.1'],
  });
}

function addHelp(root: Command): void {
  const help = root
    .command('help [command]')
    .description('shows the help of a command')
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
  describeCommand(help, {
    examples: ['leadsync help', 'leadsync help status'],
  });
}
