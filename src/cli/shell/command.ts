import type { Command } from 'commander';
import type { GlobalOptions, Surroundings } from './context.ts';
import { fold } from './table.ts';

/** Width of Commander's help without a terminal, in characters. */
const HELP_WIDTH = 80;

/** The help text of a command, except its options. */
export interface CommandHelp {
  /** Shown at the top of the help. */
  readonly examples: readonly string[];
  /** Shown at the end of the help. */
  readonly notes?: string;
}

/** A command, apart from its entry in the command table: its help, its options and its action. */
interface CliCommand<Options extends object = object> extends CommandHelp {
  /** Declares the options. The arguments come from the table, unless this function declares them. */
  readonly declare?: (command: Command, surroundings: Surroundings) => void;
  /** Runs the command and returns the exit code. @throws errors that `explainFailure` can explain */
  readonly run: (
    options: Options & GlobalOptions,
    surroundings: Surroundings,
    args: readonly string[],
  ) => Promise<number>;
}

/** Adds help, options and action to a command of the table. The action calls `exit` with its exit code. */
export type CompleteCommand = (
  command: Command,
  surroundings: Surroundings,
  exit: (code: number) => void,
) => void;

/** Defines a command of the program. `Options` are the options that `declare` declares. */
export function defineCommand<Options extends object>({
  declare,
  run,
  ...help
}: CliCommand<Options>): CompleteCommand {
  return (command, surroundings, exit) => {
    describeCommand(command, help);
    declare?.(command, surroundings);
    command.action(async () =>
      exit(await run(command.optsWithGlobals<Options & GlobalOptions>(), surroundings, command.args)),
    );
  };
}

/** Adds the examples at the top and the notes at the end of a command's help. */
export function describeCommand(command: Command, help: CommandHelp): void {
  const { examples, notes } = help;
  command
    .addHelpText(
      'before',
      `Examples:\n${examples.map((line) => `  $ ${line.replaceAll(CALL, nameOfRoot(command))}\n`).join('')}`,
    )
    .showHelpAfterError(`\`leadsync ${command.name()} --help\` shows examples.`);
  if (notes !== undefined) command.addHelpText('after', () => `\n${foldNotes(notes, command)}`);
  helps.set(command, help);
}

/** Folds notes at the width of the rest of the help. */
function foldNotes(notes: string, command: Command): string {
  const room = command.configureOutput().getOutHelpWidth?.() ?? HELP_WIDTH;
  return notes
    .split('\n')
    .flatMap((line) => (line.length > room ? fold(line, room) : [line]))
    .join('\n');
}

/** Returns the help that `describeCommand` added, if any, which Commander does not expose. */
export function helpOf(command: Command): CommandHelp | undefined {
  return helps.get(command);
}

/** Matches `leadsync` as a command in an example, not as part of a file or unit name. */
const CALL = /(?<=^|[|&(] ?|top |-n \d+ )leadsync(?= [a-z-])/g;

function nameOfRoot(command: Command): string {
  return command.parent?.name() ?? command.name();
}

const helps = new WeakMap<Command, CommandHelp>();
