import { rightsOfOthers } from '../platform/files/others-rights.ts';
import { sourceWarnings } from '../source/contract/options.ts';
import type { Config } from './contract/config.ts';

/** So many options whose secrets are exposed are named. */
const PATHS_SAID = 5;

/** What is valid in a configuration and may still not be meant, a sentence each, with where it stands. */
export function configWarnings(config: Config): readonly string[] {
  const { sources, sinks } = config;
  return [
    ...sources.flatMap(({ name, options }) => said(`source ${name}`, sourceWarnings(options))),
    ...sinks
      .filter(({ enabled }) => enabled)
      .flatMap(({ name, type, options }) => said(`sink ${name}`, type.warnings?.(options) ?? [])),
    ...exposedFiles(config),
  ];
}

/** Files that every user of this machine may change, or read although they hold secrets. */
function exposedFiles({ file, secretFiles, exposedSecrets, dataDir }: Config): readonly string[] {
  const inDataDir = rightsOfOthers(dataDir);
  const exposed = inDataDir.has('write') ? 'write to' : inDataDir.has('enter') ? 'enter' : undefined;
  return [
    ...(exposed ? [`data_dir: every user may ${exposed} ${dataDir}. Run: chmod 700 ${dataDir}`] : []),
    ...(rightsOfOthers(file).has('write') ? [`every user may change ${file}. Run: chmod o-w ${file}`] : []),
    ...(exposedSecrets.length > 0 ? [exposedInside(file, exposedSecrets)] : []),
    ...secretFiles.flatMap((secret) => {
      const rights = rightsOfOthers(secret);
      if (rights.has('write'))
        return [`every user may change the secret in ${secret}. Run: chmod 600 ${secret}`];
      return rights.has('read')
        ? [`every user may read the secret in ${secret}. Run: chmod 600 ${secret}`]
        : [];
    }),
  ];
}

function exposedInside(file: string, paths: readonly string[]): string {
  const more = paths.length - PATHS_SAID;
  const named = paths.slice(0, PATHS_SAID).join(', ') + (more > 0 ? ` and ${more} more` : '');
  return `every user may read the secrets in ${file}: ${named}. Run: chmod 600 ${file}, or take them from the environment (\${NAME}) or from files (file: …)`;
}

function said(where: string, warnings: readonly string[]): string[] {
  return warnings.map((warning) => `${where}: ${warning}`);
}
