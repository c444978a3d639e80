import type { SinkType } from '../../sinks/sink-type.ts';
import { newConfig, sinkEntries } from './new-config.ts';

/**
 * Returns a starter configuration with comments. It has a sink of the first type that needs only a folder; sinks of the other types are
 * commented out. The configuration is valid once its environment variables are set.
 */
export function exampleConfig(sinkTypes: readonly SinkType[]): string {
  const shown = sinkTypes.find(({ paths, setup }) => paths?.includes(setup.option));
  const config = newConfig(
    {
      serviceUrl: 'https://leads.example.com',
      every: '30s',
      sinks: shown ? { [shown.type]: shown.setup.standard } : {},
    },
    sinkTypes,
  );
  const others = sinkEntries(
    sinkTypes.filter((type) => type !== shown),
    ({ setup }) => setup.standard,
  );
  return config + others.map(commentedOut).join('');
}

function commentedOut(entry: string): string {
  return entry.replaceAll(/^ {2}(?=.)/gm, '  # ');
}
