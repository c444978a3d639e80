import type { Config } from '../config/config.ts';
import { loadConfig } from '../config/load-config.ts';
import { sinkTypes } from '../sinks/registry.ts';

/** What a command has of its surroundings. Standard output is data, standard error is messages. */
export interface Surroundings {
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly stdin: NodeJS.ReadStream;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The options before or after any command. */
export interface GlobalOptions {
  readonly config: string;
}

/** Reads the configuration that `-c` names. @throws ConfigError */
export function configOf(options: GlobalOptions, { env }: Surroundings): Config {
  return loadConfig(options.config, { sinkTypes, env });
}
