/** The command name in leadsync's texts. `rewriteCommands` rewrites texts if users start leadsync in another way. */
const NAME = 'leadsync';

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the command by which users of this installation start leadsync: LEADSYNC_COMMAND, or `leadsync`. */
export function typedCommand(env: Environment): string {
  return env['LEADSYNC_COMMAND'] || NAME;
}

/** Returns the command with which users start the daemon: LEADSYNC_START, such as `systemctl start leadsync`. Undefined means `leadsync run`. */
export function startCommand(env: Environment): string | undefined {
  return env['LEADSYNC_START'] || undefined;
}

/**
 * Rewrites the commands in the text, which are between backticks, to what users must type: in a checkout, `leadsync status` becomes `npm run -s
 * leadsync -- status`.
 */
export function rewriteCommands(text: string, env: Environment): string {
  const [command, start] = [typedCommand(env), startCommand(env)];
  const started = start === undefined ? text : text.replaceAll('`leadsync run`', () => `\`${start}\``);
  if (command === NAME) return started;
  return started.replaceAll(/`leadsync (?=[a-z-])/g, (found, at: number) =>
    // A text that was rewritten before stays as it is, even if the command begins with `leadsync`.
    started.startsWith(`\`${command} `, at) ? found : `\`${command} `,
  );
}
