/** The command as every text of leadsync names it. Where people start it otherwise, texts are rewritten on their way out. */
const NAME = 'leadsync';

/** Returns how those who read this process's texts start leadsync: what LEADSYNC_COMMAND says, else `leadsync`. */
export function typedCommand(env: Readonly<Record<string, string | undefined>>): string {
  return env['LEADSYNC_COMMAND'] || NAME;
}

/**
 * Rewrites the commands in a text, each between backticks, into what its readers can type: in a checkout,
 * `leadsync status` becomes `npm run -s leadsync -- status`.
 */
export function asTyped(text: string, command: string): string {
  return command === NAME ? text : text.replaceAll(/`leadsync (?=[a-z-])/g, () => `\`${command} `);
}
