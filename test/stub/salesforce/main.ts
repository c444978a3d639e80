import { parseArgs } from 'node:util';
import { startSalesforceStub } from './salesforce-stub.ts';

const USAGE = `A Salesforce org on 127.0.0.1, with leads that are kept in memory.

  node test/stub/salesforce/main.ts --port 0

  --port N             the port (8080; 0 chooses a free one)
  --client-id ID, --client-secret SECRET
  --key-field STATE    the field Lead.Leadsync_Key__c: ready, absent, hidden, read-only or not-unique
  --daily-requests N   refuses requests above N in 24 hours
  --duplicates RULE    the duplicate rule of leads: off, alert or block

While it runs:  curl http://127.0.0.1:8080/stub/records
`;

const KEY_FIELDS = ['ready', 'absent', 'hidden', 'read-only', 'not-unique'] as const;
const DUPLICATES = ['off', 'alert', 'block'] as const;

const { duplicates, ...options } = readOptions();
const stub = await startSalesforceStub(options);
stub.settings.duplicateRule = duplicates;
process.stdout.write(
  `Salesforce is at ${stub.url}, with the key field ${options.keyField}.\n` +
    `Client id: ${stub.clientId}   client secret: ${stub.clientSecret}\n`,
);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void stub.close());

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        port: { type: 'string', default: '8080' },
        'client-id': { type: 'string', default: 'demo-client' },
        'client-secret': { type: 'string', default: 'demo-secret' },
        'key-field': { type: 'string', default: 'ready' },
        'daily-requests': { type: 'string' },
        duplicates: { type: 'string', default: 'off' },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) {
      process.stdout.write(USAGE);
      process.exit(0);
    }
    const daily = values['daily-requests'];
    return {
      port: number('port', values.port),
      clientId: values['client-id'],
      clientSecret: values['client-secret'],
      keyField: oneOf('key-field', KEY_FIELDS, values['key-field']),
      duplicates: oneOf('duplicates', DUPLICATES, values.duplicates),
      ...(daily === undefined ? {} : { dailyRequests: number('daily-requests', daily) }),
    };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
    process.exit(2);
  }
}

function number(name: string, text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw new Error(`--${name} takes a number, and got ${JSON.stringify(text)}.`);
}

function oneOf<T extends string>(name: string, choices: readonly T[], text: string): T {
  const choice = choices.find((one) => one === text);
  if (choice !== undefined) return choice;
  throw new Error(`--${name} takes ${choices.join(', ')}, and got ${JSON.stringify(text)}.`);
}
