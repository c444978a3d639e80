import { defineSink } from '../sink-type.ts';
import { fieldFault } from './leads/field-columns.ts';
import { mysqlOptions } from './options.ts';

/** Keeps one row per lead, and its answers, in tables that leadsync creates. Can list its leads, and find and erase a person. */
export const mysql = defineSink({
  type: 'mysql',
  summary: 'Keeps the current content of every lead in tables of MySQL or MariaDB.',
  get options() {
    return mysqlOptions();
  },
  fieldFault,
  place: ['prefix'],
  checked: () => 'Logged in, with the rights to write; nothing was written.',
  defaults: {
    events: ['created', 'updated'],
    batchMax: 1000,
    batchWaitMs: 0,
    concurrency: 2, // leadsync prepares one batch while the server writes the other
    timeoutMs: 60_000,
  },
  setup: {
    option: 'url',
    question: 'the address of the MySQL database, as a variable',
    standard: '${MYSQL_URL}',
    entry: (
      url,
    ) => `  mysql:                             # leadsync creates the tables \`leads\` and \`lead_answers\`
    type: mysql
    url: ${url}
`,
  },
  load: async () => {
    const { MysqlSink } = await import('./mysql.ts');
    return (options, parts) => new MysqlSink(options, parts);
  },
});
