import { parseArgs } from 'node:util';
import { plans } from './limits.ts';
import { startPipedriveStub } from './pipedrive-stub.ts';

const USAGE = `A company at Pipedrive, on 127.0.0.1.

  node test/stub/pipedrive/main.ts --port 8090 --plan lite

  --port N           the port (8090; 0 chooses a free one)
  --token TEXT       the API token (stub-token)
  --plan PLAN        enforces the limits of ${Object.keys(plans).join(', ')}; none by default
  --search-lag MS    time until the search finds a new person (0)

While it runs:  curl http://127.0.0.1:8090/stub/records    what is stored; also /stub/fields, /stub/requests
`;

const options = readOptions();
const stub = await startPipedriveStub(options).catch((error: NodeJS.ErrnoException) => {
  process.stderr.write(
    error.code === 'EADDRINUSE'
      ? `Port ${options.port} is taken. Choose another with --port, or --port 0 for any.\n`
      : `The stub could not be started: ${error.message}\n`,
  );
  process.exit(1);
});
process.stdout.write(`Pipedrive is at ${stub.url}\nAPI token: ${stub.token}\n`);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void stub.close());

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        port: { type: 'string', default: '8090' },
        token: { type: 'string', default: 'stub-token' },
        plan: { type: 'string' },
        'search-lag': { type: 'string', default: '0' },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) {
      process.stdout.write(USAGE);
      process.exit(0);
    }
    return {
      port: number('port', values.port),
      token: values.token,
      searchLagMs: number('search-lag', values['search-lag']),
      ...(values.plan === undefined ? {} : { limits: { plan: plan(values.plan) } }),
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

function plan(text: string): keyof typeof plans {
  if (Object.hasOwn(plans, text)) return text as keyof typeof plans;
  throw new Error(`--plan takes one of ${Object.keys(plans).join(', ')}, and got ${JSON.stringify(text)}.`);
}
