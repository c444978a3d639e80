import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Config } from '../../src/config/contract/config.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { sinkTypes } from '../../src/sinks/registry.ts';
import { tempDir } from '../support/files/temp-dir.ts';

const SECRET = 'whsec_bm90IGEgc2VjcmV0OiB0aGlzIGlzIGEgdGVzdA==';
const URL_WITH_SECRET = 'postgresql://leadsync:secret@postgresql.example.com/leadsync';

export interface WrittenConfig {
  readonly config: Config;
  /** The files that it names for its secrets. */
  readonly secretFiles: readonly string[];
}

/** Loads a configuration whose secrets are files of one folder, as if they were there. @throws ConfigError */
export function loadWithSecrets(yaml: string, secretFolder: string): WrittenConfig {
  const folder = tempDir();
  const named = yaml.replace(/^\s*#.*$/gm, '').matchAll(/file: (?:"([^"]+)"|([^ }]+))/g);
  const secretFiles = [...named].map(([, quoted, plain]) => basename(quoted ?? plain ?? ''));
  mkdirSync(join(folder, 'secrets'));
  for (const name of secretFiles)
    writeFileSync(join(folder, 'secrets', name), name.endsWith('_url') ? URL_WITH_SECRET : SECRET);
  const file = join(folder, 'leadsync.yaml');
  writeFileSync(file, yaml.replaceAll(secretFolder, join(folder, 'secrets')));
  return { config: loadConfig(file, { sinkTypes, env: {} }), secretFiles };
}
