/** Returns the configuration file for a command without `-c`: `${LEADSYNC_CONFIG:-leadsync.yaml}` in shell notation. */
export function defaultConfigFile(env: Readonly<Record<string, string | undefined>>): string {
  return env['LEADSYNC_CONFIG'] || 'leadsync.yaml';
}
