/**
 * Variables that most programs need: the locations of programs, of the home folder and of temporary files, the user, the language, and the time zone.
 */
const NAMES = ['PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'];
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin';

/** Returns the environment for a program that must not see the other variables of this process, which may contain secrets. */
export function minimalEnvironment(env: NodeJS.ProcessEnv = process.env): Readonly<Record<string, string>> {
  const given = NAMES.flatMap((name) => {
    const value = env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { PATH: DEFAULT_PATH, ...Object.fromEntries(given) };
}
