import { readFileSync } from 'node:fs';
import type { SinkType } from '../sinks/sink.ts';
import type { Config } from './config.ts';
import { ConfigReader } from './config-reader.ts';
import { FaultList } from './fault-list.ts';
import type { Environment } from './interpolate.ts';
import { parseYaml } from './yaml-text.ts';
import { YamlTree } from './yaml-tree.ts';

/** What a configuration is read with. */
export interface ConfigParts {
  /** The types of sink that there are. */
  readonly sinkTypes: readonly SinkType[];
  /** What `${…}` is replaced from. */
  readonly env: Environment;
}

/**
 * Reads and validates a configuration file. Opens no connection and writes nothing; reads the files that
 * `{ file: … }` names. @throws ConfigError with every fault
 */
export function loadConfig(
  file: string,
  parts: ConfigParts & { readonly readFile?: (file: string) => Uint8Array },
): Config {
  const { readFile = (path) => readFileSync(path) } = parts;
  return parseConfig(readText(file, readFile), file, parts);
}

/** Validates the text of a configuration; `file` is its name in messages, and its folder that of relative paths. @throws ConfigError with every fault */
export function parseConfig(text: string, file: string, { sinkTypes, env }: ConfigParts): Config {
  const faults = new FaultList(file);
  const document = parseYaml(text.replace(/^\uFEFF/, ''), faults);
  const config =
    document && new ConfigReader(file, new YamlTree(document, faults, env), faults, sinkTypes).read();
  faults.throwIfAny();
  if (config === undefined) throw new Error('a configuration without a fault gave no result');
  return config;
}

function readText(file: string, readFile: (file: string) => Uint8Array): string {
  const faults = new FaultList(file);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFile(file));
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === 'ENOENT')
      faults.addWhole('there is no such file', '`leadsync init` writes one, -c names another');
    else if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA')
      faults.addWhole('is not UTF-8 text', 'save it as UTF-8');
    else faults.addWhole(`cannot be read (${String(code)})`, 'check its permissions');
    faults.throwIfAny();
    throw error;
  }
}
