import { defineSink } from '../sink-type.ts';
import { fieldFault } from './leads/field-columns.ts';
import { postgresOptions } from './options.ts';

/** Keeps one row per lead, and its answers, in tables that leadsync creates. Can list its leads, find and erase a person, and contain the mirror. */
export const postgres = defineSink({
  type: 'postgres',
  summary: 'Keeps the current content of every lead in PostgreSQL tables.',
  get options() {
    return postgresOptions();
  },
  fieldFault,
  place: ['schema'],
  checked: () => 'Logged in, with the rights to write; nothing was written.',
  defaults: {
    events: ['created', 'updated'],
    batchMax: 1000,
    batchWaitMs: 0,
    concurrency: 2, // leadsync prepares one batch while PostgreSQL writes the other
    timeoutMs: 60_000,
  },
  setup: {
    option: 'url',
    question: 'the address of the database, as a variable',
    standard: '${DATABASE_URL}',
    entry: (
      url,
    ) => `  warehouse:                         # leadsync creates and migrates the table \`leads\` and the other tables
    type: postgres
    url: ${url}
    schema: leadsync
`,
  },
  load: async () => {
    const { PostgresSink } = await import('./postgres.ts');
    return (options, parts) => new PostgresSink(options, parts);
  },
});
