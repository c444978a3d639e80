import { kafka } from './kafka.ts';
import { mysql } from './mysql.ts';
import { program, target } from './program.ts';

/** The destinations of which each run has one, by the name of the sink. */
export const DESTINATIONS = { mysql, kafka, program, target } as const;
export type DestinationName = keyof typeof DESTINATIONS;
export const DESTINATION_NAMES = ['mysql', 'kafka', 'program', 'target'] as const;
