/**
 * Parses the command line of a tool before it starts anything. If `read` returns 'help', prints the usage and ends the process with 0. If
 * `read` throws, prints the error and the usage and ends the process with 2.
 */
export function readOrExit<Options extends object>(
  read: (args: readonly string[]) => Options | 'help',
  usage: string,
): Options {
  try {
    const options = read(process.argv.slice(2));
    if (options !== 'help') return options;
    process.stdout.write(usage);
    process.exit(0);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${usage}`);
    process.exit(2);
  }
}

/** Returns the number that an option holds. @throws Error that names the accepted numbers */
export function wholeNumber(option: string, text: string, from: number, to: number): number {
  const number = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= from && number <= to) return number;
  throw new Error(`--${option} takes a whole number from ${from} to ${to}, and got ${JSON.stringify(text)}.`);
}

/** Returns the word that an option holds. @throws Error that names the accepted words */
export function oneOf<Word extends string>(option: string, text: string, words: readonly Word[]): Word {
  const word = words.find((one) => one === text);
  if (word !== undefined) return word;
  throw new Error(`--${option} takes ${words.join(' or ')}, and got ${JSON.stringify(text)}.`);
}
