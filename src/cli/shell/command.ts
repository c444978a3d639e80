import type { Command } from 'commander';
import type { GlobalOptions, Surroundings } from './context.ts';
import { fold } from './table.ts';

/** In characters, as Commander has it where the output is no terminal. */
const HELP_WIDTH = 80;

/** What the help of a command says beside its options. */
export interface CommandHelp {
  /** Stand at the top of its help. */
  readonly examples: readonly string[];
  /** What else its help should say, at the end. */
  readonly notes?: string;
}

/** What a command is beside its entry in the table of commands: its help, its options, and what it does. */
interface CliCommand<Options extends object = object> extends CommandHelp {
  /** Declares its options. Arguments are those of the table, unless it declares them itself. */
  readonly declare?: (command: Command, surroundings: Surroundings) => void;
  /** Does it, and gives the exit code. @throws what `explainFailure` can explain */
  readonly run: (
    options: Options & GlobalOptions,
    surroundings: Surroundings,
    args: readonly string[],
  ) => Promise<number>;
}

/** Gives a command of the table its help, its options, and what it does. `exit` is told its exit code. */
export type CompleteCommand = (
  command: Command,
  surroundings: Surroundings,
  exit: (code: number) => void,
) => void;

/** A command, ready to be part of the program. `Options` are what its `declare` makes. */
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

/** Gives a command its help: the examples at the top, the notes at the end. */
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

/** Divides notes where the other lines of the help are divided. */
function foldNotes(notes: string, command: Command): string {
  const room = command.configureOutput().getOutHelpWidth?.() ?? HELP_WIDTH;
  return notes
    .split('\n')
    .flatMap((line) => (line.length > room ? fold(line, room) : [line]))
    .join('\n');
}

/** Returns what `describeCommand` gave a command: Commander itself does not hand it out. */
export function helpOf(command: Command): CommandHelp | undefined {
  return helps.get(command);
}

/** The command where it is called, in an example; not in the name of a file or a unit. */
const CALL = /(?<=^|[|&(] ?|top |-n \d+ )leadsync(?= [a-z-])/g;

function nameOfRoot(command: Command): string {
  return command.parent?.name() ?? command.name();
}

const helps = new WeakMap<Command, CommandHelp>();
