import { parseArgs } from 'node:util';
import { startHubSpotStub } from './hubspot-stub.ts';
import { type Limits, limitsOfPlans } from './limits.ts';

const USAGE = `A substitute for HubSpot's API on 127.0.0.1, with an empty account.

  node test/stub/hubspot/main.ts --port 8081 --limits free

  --port N       the port (0 chooses a free one, and is the default)
  --token TOKEN  the token that it accepts
  --limits PLAN  enforces the limits of a plan: ${Object.keys(limitsOfPlans).join(', ')}
  --requests N   allows N requests in ten seconds, and any number a day

While it runs:  curl http://127.0.0.1:8081/stub/records
                curl http://127.0.0.1:8081/stub/counts    (requests, and how many got a 429)
`;

const stub = await startHubSpotStub(readOptions());
process.stdout.write(
  `HubSpot is at ${stub.url}. Token: ${stub.token}\nWhat it stores: ${stub.url}/stub/records\n`,
);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void stub.close());

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        port: { type: 'string', default: '0' },
        token: { type: 'string' },
        limits: { type: 'string' },
        requests: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) {
      process.stdout.write(USAGE);
      process.exit(0);
    }
    if (values.limits !== undefined && !isPlan(values.limits))
      throw new Error(`--limits takes ${Object.keys(limitsOfPlans).join(', ')}.`);
    return {
      port: Number(values.port),
      ...(values.token === undefined ? {} : { token: values.token }),
      ...(values.limits === undefined ? {} : { limits: values.limits }),
      ...(values.requests === undefined ? {} : { limits: limitOf(Number(values.requests)) }),
    };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
    process.exit(2);
  }
}

function limitOf(tenSecondly: number): Limits {
  if (!Number.isSafeInteger(tenSecondly) || tenSecondly < 1)
    throw new Error('--requests takes a whole number.');
  return { tenSecondly, daily: Number.MAX_SAFE_INTEGER, searchesPerSecond: tenSecondly };
}

function isPlan(name: string): name is keyof typeof limitsOfPlans {
  return Object.hasOwn(limitsOfPlans, name);
}
