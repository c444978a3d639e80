/** What most programs need: where programs, the home and temporary files are, who runs them, and in which language and time zone. */
const NAMES = ['PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'];
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin';

/** Returns the environment for a program that must not see the rest of ours, which may hold secrets. */
export function minimalEnvironment(env: NodeJS.ProcessEnv = process.env): Readonly<Record<string, string>> {
  const given = NAMES.flatMap((name) => {
    const value = env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { PATH: DEFAULT_PATH, ...Object.fromEntries(given) };
}
