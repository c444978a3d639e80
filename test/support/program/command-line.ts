/**
 * Reads the command line of a tool before it starts anything. Ends the process with 0 and the usage where `read` gives 'help',
 * and with 2, what is wrong and the usage where it throws.
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

/** The number that an option has. @throws Error that says which are taken */
export function wholeNumber(option: string, text: string, from: number, to: number): number {
  const number = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= from && number <= to) return number;
  throw new Error(`--${option} takes a whole number from ${from} to ${to}, and got ${JSON.stringify(text)}.`);
}

/** The word that an option has. @throws Error that says which are taken */
export function oneOf<Word extends string>(option: string, text: string, words: readonly Word[]): Word {
  const word = words.find((one) => one === text);
  if (word !== undefined) return word;
  throw new Error(`--${option} takes ${words.join(' or ')}, and got ${JSON.stringify(text)}.`);
}
