import { sourceWarnings } from '../source/options.ts';
import type { Config } from './config.ts';

/** What is valid in a configuration and may still not be meant, a sentence each, with where it stands. */
export function configWarnings({ sources, sinks }: Config): readonly string[] {
  return [
    ...sources.flatMap(({ name, options }) => said(`source ${name}`, sourceWarnings(options))),
    ...sinks
      .filter(({ enabled }) => enabled)
      .flatMap(({ name, type, options }) => said(`sink ${name}`, type.warnings?.(options) ?? [])),
  ];
}

function said(where: string, warnings: readonly string[]): string[] {
  return warnings.map((warning) => `${where}: ${warning}`);
}
