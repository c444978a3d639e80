import type { Argument, Command, Option } from 'commander';
import { queries, relations } from '../../catalog/catalog.ts';
import { helpOf } from '../shell/command.ts';

/** What can complete a word. `names`: one of the listed names; `configured`: a name from the configuration file. */
export type CompletionValue =
  | { readonly kind: 'names'; readonly names: readonly string[] }
  | { readonly kind: 'configured'; readonly what: ConfiguredName }
  | { readonly kind: 'file' }
  | { readonly kind: 'text' };

/** The kinds of names that a configuration file defines and a command takes. */
export const CONFIGURED_NAMES = ['sink', 'source', 'export'] as const;
/** A kind of name that a configuration file defines. */
export type ConfiguredName = (typeof CONFIGURED_NAMES)[number];

/** An option of a command. `value` is undefined for an option without a value. */
export interface TreeOption {
  /** As in the help: `-c, --config <file>`. */
  readonly flags: string;
  /** The words themselves: `-c` and `--config`. */
  readonly words: readonly string[];
  readonly about: string;
  readonly value: CompletionValue | undefined;
}

/** A positional argument of a command. */
export interface TreeArgument {
  readonly name: string;
  readonly variadic: boolean;
  readonly value: CompletionValue;
}

/** A command as completion scripts and the manual page show it. */
export interface TreeCommand {
  readonly name: string;
  /** The text after the name: `[options] <sink>`. */
  readonly usage: string;
  readonly about: string;
  /** The group in which help lists it: `Run:`. */
  readonly group: string;
  readonly options: readonly TreeOption[];
  readonly arguments: readonly TreeArgument[];
  readonly examples: readonly string[];
  readonly notes: string | undefined;
}

/** The whole command line, read from Commander's definition of it. */
export interface CommandTree {
  readonly about: string;
  /** The options that may stand before or after any command. */
  readonly options: readonly TreeOption[];
  readonly commands: readonly TreeCommand[];
}

/** Reads the definition of the command line. `root` must have every command loaded. */
export function commandTree(root: Command): CommandTree {
  const help = root.createHelp();
  return {
    about: root.description(),
    options: help.visibleOptions(root).map(treeOption),
    commands: help.visibleCommands(root).map((command) => treeCommand(command)),
  };
}

function treeCommand(command: Command): TreeCommand {
  const names = command.parent?.commands.map((one) => one.name()) ?? [];
  return {
    name: command.name(),
    usage: command.usage(),
    about: command.description(),
    group: command.helpGroup(),
    options: command.options.filter(({ hidden }) => !hidden).map(treeOption),
    arguments: command.registeredArguments.map((argument) => treeArgument(argument, names)),
    examples: helpOf(command)?.examples ?? [],
    notes: helpOf(command)?.notes,
  };
}

function treeOption(option: Option): TreeOption {
  const { flags, short, long, description } = option;
  const placeholder = /[<[]([\w:=]+)/.exec(flags)?.[1];
  return {
    flags,
    words: [short, long].filter((word) => word !== undefined),
    about: description,
    value:
      placeholder === undefined
        ? undefined
        : completes(option.attributeName(), placeholder, option.argChoices),
  };
}

function treeArgument(argument: Argument, commands: readonly string[]): TreeArgument {
  const name = argument.name();
  const choices = name === 'command' ? commands : argument.argChoices;
  return { name, variadic: argument.variadic, value: completes(name, name, choices) };
}

/** Returns what completes a value: its choices, or what the name of the option or argument and its placeholder imply. */
function completes(
  name: string,
  placeholder: string,
  choices: readonly string[] | undefined,
): CompletionValue {
  if (choices) return { kind: 'names', names: choices };
  const what = CONFIGURED_NAMES.find((one) => one === name || one === placeholder);
  if (what) return { kind: 'configured', what };
  if (name === 'sql') return { kind: 'names', names: queries.map((query) => `@${query.name}`) };
  if (name === 'table') return { kind: 'names', names: relations.map((relation) => relation.name) };
  return { kind: ['file', 'output'].includes(placeholder) ? 'file' : 'text' };
}
