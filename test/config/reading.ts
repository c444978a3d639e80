import { z } from 'zod';
import type { Config } from '../../src/config/contract/config.ts';
import { ConfigError, formatFault } from '../../src/config/contract/config-error.ts';
import { parseConfig } from '../../src/config/load-config.ts';
import type { Environment } from '../../src/config/reading/interpolate.ts';
import { secret } from '../../src/platform/options/option-types.ts';
import { defineSink, type SinkType } from '../../src/sinks/sink-type.ts';

const pigeon = defineSink({
  type: 'pigeon',
  summary: 'Carries leads by pigeon.',
  options: z.strictObject({
    loft: z.string().min(1).describe('Where the pigeons live.'),
    password: secret().optional().describe('What the pigeon says at the door.'),
    altitude: z.int().min(1).optional().describe('How high it flies, in metres.'),
    weight: z
      .union([z.number(), z.literal('any')])
      .optional()
      .describe('How much it carries.'),
    rings: z
      .record(z.string().regex(/^[a-z]+$/, 'must be letters'), secret())
      .optional()
      .describe('Its rings.'),
    breed: z
      .string()
      .superRefine((name, context) => {
        if (name !== 'homer') context.addIssue({ code: 'custom', message: `there is no breed ${name}` });
      })
      .optional()
      .describe('Its breed.'),
  }),
  perLead: { note: { means: 'What it carries.' }, keeper: { means: 'Who waits for it.' } },
  paths: ['loft'],
  checked: () => 'The loft exists.',
  defaults: { events: ['created'], batchMax: 3, batchWaitMs: 0, concurrency: 2, timeoutMs: 15_000 },
  setup: {
    option: 'loft',
    question: 'where the pigeons live',
    standard: './loft',
    entry: (loft) => `  birds: { type: pigeon, loft: ${loft} }\n`,
  },
  load: () => {
    throw new Error('validation loads nothing');
  },
});

/** A type of sink that is made for these tests, with an option of every kind. */
export const pigeons: readonly SinkType[] = [pigeon];

/** A valid configuration of five lines: what a test adds begins on line 6. */
export const SOURCE = `sources:
  main:
    base_url: https://leads.example.com
    client_id: id
    client_secret: s3cr3t
`;

/** Validates a text as the file `/etc/leadsync/leadsync.yaml`. */
export function read(text: string, env: Environment = {}): Config {
  return parseConfig(text, '/etc/leadsync/leadsync.yaml', { sinkTypes: pigeons, env });
}

/** Every fault of a text as it is printed, the file's name left out; none for a valid one. */
export function faultsOf(text: string, env: Environment = {}, sinkTypes = pigeons): string[] {
  try {
    parseConfig(text, 'f', { sinkTypes, env });
    return [];
  } catch (error) {
    if (error instanceof ConfigError)
      return error.faults.map((fault) => formatFault(fault).replace(/^f:/, ''));
    throw error;
  }
}
