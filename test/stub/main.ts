import { parseArgs } from 'node:util';
import { startStub } from './stub.ts';

const USAGE = `The described lead listing service, on 127.0.0.1, with generated leads.

  npm run -s stub -- --leads 100 --rate 2
  npm run -s stub -- --port 8080 --leads 1000000 --doorkeeper --gzip

  --port N         the port (8080; 0 chooses a free one)
  --leads N        leads shown from the start (20)
  --rate N         new leads per second (1)
  --seed N         determines the content of the leads (1)
  --lifetime N     lifetime of an access token in seconds (7200)
  --client-id ID, --client-secret SECRET
  --doorkeeper     behaves as a Rails service with Doorkeeper
  --gzip           compresses listings for clients that accept it
  --etag KIND      none, strong or weak

While it runs:  curl -d '{"listing":"truncated","times":1}' http://127.0.0.1:8080/__stub/misbehave
                curl http://127.0.0.1:8080/__stub/state
`;

const options = readOptions();
const stub = await startStub(options).catch((error: NodeJS.ErrnoException) => {
  process.stderr.write(
    error.code === 'EADDRINUSE'
      ? `Port ${options.port} is taken. Choose another with --port, or --port 0 for any.\n`
      : `The service could not be started: ${error.message}\n`,
  );
  process.exit(1);
});
process.stdout.write(
  `The lead listing service is at ${stub.url} with ${stub.shown} leads.\n` +
    `Client id: ${stub.clientId}   client secret: ${stub.clientSecret}\n`,
);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void stub.close());

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        port: { type: 'string', default: '8080' },
        leads: { type: 'string', default: '20' },
        rate: { type: 'string', default: '1' },
        seed: { type: 'string', default: '1' },
        lifetime: { type: 'string', default: '7200' },
        'client-id': { type: 'string', default: 'demo-client' },
        'client-secret': { type: 'string', default: 'demo-secret' },
        doorkeeper: { type: 'boolean', default: false },
        gzip: { type: 'boolean', default: false },
        etag: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) {
      process.stdout.write(USAGE);
      process.exit(0);
    }
    const etag = etagKind(values.etag);
    return {
      port: number('port', values.port),
      leads: number('leads', values.leads),
      leadsPerSecond: number('rate', values.rate),
      seed: number('seed', values.seed),
      tokenLifetimeSeconds: number('lifetime', values.lifetime),
      clientId: values['client-id'],
      clientSecret: values['client-secret'],
      doorkeeper: values.doorkeeper,
      gzip: values.gzip,
      ...(etag === undefined ? {} : { etag }),
    };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
    process.exit(2);
  }
}

function number(name: string, text: string): number {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  throw new Error(`--${name} takes a number, and got ${JSON.stringify(text)}.`);
}

function etagKind(text: string | undefined): 'none' | 'strong' | 'weak' | undefined {
  if (text === undefined || text === 'none' || text === 'strong' || text === 'weak') return text;
  throw new Error(`--etag takes none, strong or weak, and got ${JSON.stringify(text)}.`);
}
