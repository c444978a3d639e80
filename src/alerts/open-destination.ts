import type { Clock } from '../platform/time/clock.ts';
import type { Destination, DestinationType } from './destination.ts';
import type { AlertOptions } from './options.ts';
import { destinationTypes } from './registry.ts';

/** Opens a configured destination. No connection is made yet. */
export function openDestination({ type, ...options }: AlertOptions['to'][string], clock: Clock): Destination {
  const found: DestinationType | undefined = destinationTypes.find((one) => one.type === type);
  if (!found) throw new Error(`no destination has the type ${type}`);
  return found.open(options, clock);
}
