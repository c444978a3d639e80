/** The command as every text of leadsync names it. Where people start it otherwise, texts are rewritten on their way out. */
const NAME = 'leadsync';

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns how those who read this process's texts start leadsync: what LEADSYNC_COMMAND says, else `leadsync`. */
export function typedCommand(env: Environment): string {
  return env['LEADSYNC_COMMAND'] || NAME;
}

/** Returns what starts the daemon here in place of `leadsync run`, such as `systemctl start leadsync`; undefined where nothing does. */
export function startCommand(env: Environment): string | undefined {
  return env['LEADSYNC_START'] || undefined;
}

/**
 * Rewrites the commands in a text, each between backticks, into what its readers can type: in a checkout,
 * `leadsync status` becomes `npm run -s leadsync -- status`.
 */
export function asTyped(text: string, env: Environment): string {
  const [command, start] = [typedCommand(env), startCommand(env)];
  const started = start === undefined ? text : text.replaceAll('`leadsync run`', () => `\`${start}\``);
  return command === NAME ? started : started.replaceAll(/`leadsync (?=[a-z-])/g, () => `\`${command} `);
}
