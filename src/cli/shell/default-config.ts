/** The configuration of a command without `-c`. An empty variable counts as none, as in a shell's ${LEADSYNC_CONFIG:-leadsync.yaml}. */
export function defaultConfigFile(env: Readonly<Record<string, string | undefined>>): string {
  return env['LEADSYNC_CONFIG'] || 'leadsync.yaml';
}
