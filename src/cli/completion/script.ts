import type { Command } from 'commander';
import { bashCompletion } from './bash.ts';
import { type CommandTree, commandTree } from './command-tree.ts';
import { fishCompletion } from './fish.ts';
import type { Shell } from './shells.ts';
import { zshCompletion } from './zsh.ts';

const SCRIPTS: Readonly<Record<Shell, (tree: CommandTree) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};

/** Returns the completion script of a shell for the commands of `root`. */
export function completionScript(shell: Shell, root: Command): string {
  return SCRIPTS[shell](commandTree(root));
}
