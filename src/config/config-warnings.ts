import { rightsOfOthers } from '../platform/files/rights-of-others.ts';
import { isPlainHttp } from '../platform/http/address.ts';
import { sourceWarnings } from '../source/contract/options.ts';
import type { Config } from './contract/config.ts';

/** Maximum number of options with exposed secrets that a warning names. */
const MAX_PATHS = 5;

/** Returns a warning for each part of a valid configuration that may be a mistake. The warning names that part. */
export function configWarnings(config: Config): readonly string[] {
  const { sources, sinks } = config;
  return [
    ...sources.flatMap(({ name, options }) => prefixed(`source ${name}`, sourceWarnings(options))),
    ...sinks
      .filter(({ enabled }) => enabled)
      .flatMap(({ name, type, options }) => prefixed(`sink ${name}`, type.warnings?.(options) ?? [])),
    ...loginWarnings(config),
    ...exposedFiles(config),
  ];
}

/** Google's issuer. Google logs in everyone with a Google account, unless the client's consent screen is internal to one organisation. */
const GOOGLE = /^https:\/\/accounts\.google\.com\/?$/;

function loginWarnings({ adminLogin, publicUrl }: Config): readonly string[] {
  if (adminLogin === undefined) return [];
  const { provider, roles } = adminLogin;
  return [
    ...(GOOGLE.test(provider.issuer) && roles.defaultRole !== undefined
      ? [
          'admin.oidc.default_role: gives a role to everyone with a Google account, unless the consent screen of the client is internal to your organisation. List people in roles instead',
        ]
      : []),
    ...(publicUrl !== undefined && isPlainHttp(publicUrl)
      ? [
          `admin.public_url: logins to ${publicUrl} can be read in transit, and many providers refuse such a redirect URI. Put a proxy with TLS in front of leadsync`,
        ]
      : []),
  ];
}

/**
 * Returns a warning for the data directory if every user may enter or change it, and for each file that every user may change, or that
 * holds secrets and every user may read.
 */
function exposedFiles({ file, secretFiles, exposedSecrets, dataDir }: Config): readonly string[] {
  const dataDirRights = rightsOfOthers(dataDir);
  const exposed = dataDirRights.has('write') ? 'write to' : dataDirRights.has('enter') ? 'enter' : undefined;
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
  const more = paths.length - MAX_PATHS;
  const named = paths.slice(0, MAX_PATHS).join(', ') + (more > 0 ? ` and ${more} more` : '');
  return `every user may read the secrets in ${file}: ${named}. Run: chmod 600 ${file}, or move them to the environment (\${NAME}) or to files (file: …)`;
}

function prefixed(where: string, warnings: readonly string[]): string[] {
  return warnings.map((warning) => `${where}: ${warning}`);
}
