import { defineSink } from '../sink-type.ts';
import { execOptions, optionFaults, optionWarnings } from './options.ts';

/** Starts a program for each batch. leadsync cannot read back what a program stored, nor delete it. */
export const exec = defineSink({
  type: 'exec',
  summary:
    'For each batch, starts a program that reads leads from its standard input: as JSON lines, or as a Singer target.',
  get options() {
    return execOptions();
  },
  paths: ['cwd'],
  faults: optionFaults,
  warnings: optionWarnings,
  checked: () => 'The program was found; it was not started.',
  defaults: {
    events: ['created'],
    batchMax: 1000,
    batchWaitMs: 0,
    concurrency: 1,
    timeoutMs: 60_000,
  },
  // A target takes a second or two to start, and works in bulk.
  defaultsFor: ({ speaks }) =>
    speaks === 'singer' ? { batchMax: 10_000, batchWaitMs: 5 * 60_000, timeoutMs: 5 * 60_000 } : {},
  setup: {
    option: 'command',
    question: 'the program that reads leads as JSON lines',
    standard: './take-leads',
    entry: (
      program,
    ) => `  program:                           # started for each batch, with one lead per line on its standard input
    type: exec
    command: [${program}]
`,
  },
  load: async () => {
    const { ExecSink } = await import('./exec.ts');
    return (options, parts) => new ExecSink(options, parts);
  },
});
