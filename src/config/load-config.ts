import { readRegularFile, UnreadableFile } from '../platform/files/read-regular-file.ts';
import { rightsOfOthers } from '../platform/files/rights-of-others.ts';
import type { SinkType } from '../sinks/sink-type.ts';
import type { Config, ConfigValue, LedgerConfig, SecretOption } from './contract/config.ts';
import { ConfigError } from './contract/config-error.ts';
import { inEffect } from './effective-values.ts';
import { FaultList } from './faults/fault-list.ts';
import { ConfigReader } from './reading/config-reader.ts';
import type { Environment } from './reading/interpolate.ts';
import { addTooLarge, MAX_BYTES, parseYaml } from './reading/parse-yaml.ts';
import type { Purpose } from './reading/purpose.ts';
import { YamlTree } from './reading/yaml-tree.ts';

/** What parsing a configuration needs besides its text. */
export interface ConfigParts {
  /** The available sink types. */
  readonly sinkTypes: readonly SinkType[];
  /** The environment in which `${…}` is looked up. */
  readonly env: Environment;
  /** Whether to skip the tests of mappings, for the command that runs and shows them itself. */
  readonly ignoreTests?: boolean;
}

/** What reading a configuration file needs besides its path. */
interface FileParts extends ConfigParts {
  /** Default: reads from the disk. */
  readonly readFile?: (file: string) => Uint8Array;
}

/**
 * Reads and validates a configuration file, and the files that `{ file: … }` names. Opens no connection and writes nothing.
 * @throws ConfigError with every fault
 */
export function loadConfig(file: string, parts: FileParts): Config {
  return parseConfig(readText(file, parts), file, parts);
}

/**
 * Reads the part of a configuration file that is enough for commands that neither poll nor deliver. Ignores unset variables and unreadable
 * secret files that only polling and delivering need. @throws ConfigError for every other fault
 */
export function loadLedgerConfig(file: string, parts: FileParts): LedgerConfig {
  return parse(readText(file, parts), file, parts, 'ledger', (reader) => reader.readForLedger());
}

/**
 * Like `loadLedgerConfig`, but does not throw for faults: returns them with the parts that could be read, so that an operator who has just
 * saved a mistake still sees the status. @throws ConfigError if not even data_dir can be read
 */
export function loadLenientConfig(file: string, parts: FileParts): LedgerConfig {
  const { sinkTypes, env } = parts;
  const faults = new FaultList(file);
  const text = withoutByteOrderMark(readText(file, parts));
  const { document, isBroken } = parseYaml(text, faults);
  // If the syntax is broken, report only the syntax faults: all others would follow from them.
  const reported = isBroken ? new FaultList(file) : faults;
  const tree = document && new YamlTree(text, document, reported, { env, purpose: 'ledger', sinkTypes });
  const config =
    tree && new ConfigReader(file, tree, reported, { sinkTypes, purpose: 'ledger' }).readForLedger();
  if (config === undefined) faults.throwIfAny();
  if (config === undefined) throw new Error('a configuration without a fault gave no result');
  return { ...config, faults: faults.faults };
}

/**
 * Returns every value that a configuration file puts into effect, and the origin of each. Secrets are masked. Tolerates the same unset
 * variables and unreadable secret files as `loadLedgerConfig`. @throws ConfigError
 */
export function describeConfig(file: string, parts: FileParts): readonly ConfigValue[] {
  return describe(file, parts).values;
}

/**
 * Returns the options that hold secrets in a configuration file, and where each secret comes from. Tolerates what `describeConfig`
 * tolerates.
 * @throws ConfigError
 */
export function describeSecrets(file: string, parts: FileParts): readonly SecretOption[] {
  return describe(file, parts).secrets;
}

function describe(file: string, parts: FileParts) {
  const { sinkTypes } = parts;
  return parse(readText(file, parts), file, parts, 'ledger', (reader, tree, { lines }) =>
    reader.readForLedger() ? inEffect({ tree, lines, file, sinkTypes }) : undefined,
  );
}

/**
 * Validates the text of a configuration. `file` is its name in messages; relative paths are resolved against the file's folder.
 * @throws ConfigError with every fault
 */
export function parseConfig(text: string, file: string, parts: ConfigParts): Config {
  return parse(text, file, parts, 'everything', (reader, tree, { lines }) => {
    const config = reader.read();
    if (config === undefined) return undefined;
    const { sinkTypes } = parts;
    const { values, secrets, inlineSecrets } = inEffect({ tree, lines, file, sinkTypes });
    const exposedSecrets = rightsOfOthers(file).has('read') ? inlineSecrets : [];
    return { ...config, values, secrets, exposedSecrets };
  });
}

function parse<Result>(
  written: string,
  file: string,
  { sinkTypes, env, ignoreTests = false }: ConfigParts,
  purpose: Purpose,
  read: (reader: ConfigReader, tree: YamlTree, faults: FaultList) => Result | undefined,
): Result {
  const faults = new FaultList(file);
  const text = withoutByteOrderMark(written);
  const { document, isBroken } = parseYaml(text, faults);
  const tree = document && !isBroken && new YamlTree(text, document, faults, { env, purpose, sinkTypes });
  const reader = tree ? new ConfigReader(file, tree, faults, { sinkTypes, purpose, ignoreTests }) : undefined;
  const config = tree && reader ? read(reader, tree, faults) : undefined;
  faults.throwIfAny(reader?.secretFiles);
  if (config === undefined) throw new Error('a configuration without a fault gave no result');
  return config;
}

/** Removes the byte order mark that some Windows editors write at the start of a file. */
function withoutByteOrderMark(text: string): string {
  return text.replace(/^\uFEFF/, '');
}

function readText(
  file: string,
  { readFile = (path) => readRegularFile(path, MAX_BYTES) }: FileParts,
): string {
  const faults = new FaultList(file);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFile(file));
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (error instanceof UnreadableFile && error.because === 'kind')
      faults.addWhole('is a named pipe or a device', 'use a regular file, since each reload reads it again');
    else if (error instanceof UnreadableFile) addTooLarge(faults);
    else if (code === 'ENOENT')
      faults.addWhole('there is no such file', '`leadsync init` creates one, -c names another');
    else if (code === 'EISDIR') faults.addWhole('is a folder', 'name the file in it');
    else if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA')
      faults.addWhole('is not UTF-8 text', 'save it as UTF-8');
    else {
      faults.addWhole(`cannot be read (${String(code)})`, 'check its permissions');
      throw new ConfigError(faults.faults, [], true);
    }
    faults.throwIfAny();
    throw error;
  }
}
