import { createInterface } from 'node:readline';
import { CommandFailure } from '../shell/command-failure.ts';
import type { Surroundings } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import type { Conversation } from './init-dialog.ts';

/** Whether input and output are a terminal, so that a person can answer questions. */
export function isInteractive({ stdin, stdout }: Surroundings): boolean {
  return stdin.isTTY === true && stdout.isTTY === true;
}

/** Opens the terminal for questions while `use` runs. @throws CommandFailure if the user quits with Ctrl-C or Ctrl-D */
export async function converse<T>(
  { stdin, stdout }: Surroundings,
  use: (conversation: Conversation) => Promise<T>,
): Promise<T> {
  const terminal = createInterface({ input: stdin, output: stdout as unknown as NodeJS.WritableStream });
  // The iterator buffers lines that were typed or pasted ahead of their question.
  const lines = terminal[Symbol.asyncIterator]();
  try {
    return await use({
      ask: async (question) => {
        terminal.setPrompt(question);
        terminal.prompt();
        const { value, done } = await lines.next();
        if (!done) return value;
        stdout.write('\n');
        throw new CommandFailure(ExitCode.notDone, 'Nothing was written.');
      },
      say: (text) => void stdout.write(text),
    });
  } finally {
    terminal.close();
  }
}
