import { get } from 'node:http';
import { type Address, readAddress } from '../address.ts';
import { defineCommand } from '../command.ts';
import { commandShown, ledgerConfigOf } from '../context.ts';
import { ExitCode } from '../exit-code.ts';
import { CommandFailure } from '../failure.ts';

const ANSWER_MS = 3_000;

/** `leadsync healthcheck`: does the running leadsync answer? For containers; needs no other program. */
export const healthcheck = defineCommand<{ at?: Address }>({
  usage: 'healthcheck',
  summary: 'does the running leadsync answer? Exit 0 or 1; for containers',
  examples: ['leadsync healthcheck', 'leadsync healthcheck --at 127.0.0.1:9465'],
  notes: 'It asks for /livez at admin.listen of the configuration, and waits for 3 seconds.',
  declare: (command) =>
    command.option('--at <host:port>', 'ask there: a worker with --listen, say', readAddress),
  run: async (options, surroundings) => {
    const address = options.at ?? ledgerConfigOf(options, surroundings).admin;
    if (!address)
      throw new CommandFailure(
        ExitCode.notDone,
        'There is nobody to ask: admin.listen is off in this configuration.',
        'Give it an address such as 127.0.0.1:9464, or name one by --at.',
      );
    const { host, port } = reachable(address);
    const shown = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
    const fault = await faultOf(host, port);
    if (fault !== undefined)
      throw new CommandFailure(
        ExitCode.notDone,
        `leadsync at ${shown} is not well: ${fault}.`,
        `See whether ${commandShown(options, surroundings)('run')} is running, and what it logs.`,
      );
    surroundings.stdout.write(`leadsync at ${shown} answers.\n`);
    return ExitCode.done;
  },
});

/** A server that listens on every address of the machine is asked on its loopback. */
function reachable({ host, port }: Address): Address {
  if (host === '0.0.0.0') return { host: '127.0.0.1', port };
  return { host: host === '::' ? '::1' : host, port };
}

function faultOf(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const request = get({ host, port, path: '/livez', signal, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200 ? undefined : `it answers with HTTP ${response.statusCode}`);
    });
    request.on('error', (error: NodeJS.ErrnoException) =>
      resolve(signal.aborted ? `no answer within ${ANSWER_MS / 1_000} s` : `no connection (${error.code})`),
    );
  });
}
