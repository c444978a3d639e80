import { createInterface } from 'node:readline';
import type { SourceConfig } from '../../config/contract/config.ts';
import { withLogin } from '../../operations/login.ts';
import { listenForStop } from '../../platform/process/stop-signals.ts';
import { printMoment } from '../../platform/text/format.ts';
import { printable } from '../../platform/text/printable.ts';
import type { LoggedIn, Login } from '../../source/auth/login.ts';
import type { LogStream } from '../../telemetry/logger.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { configOf } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { requireName } from '../shell/names.ts';

/** `leadsync login SOURCE`: authorization code grant. Prints the address to open, takes the code, stores the tokens. */
export const command = defineCommand({
  examples: ['leadsync login main'],
  notes:
    'Only needed where leads are read on behalf of a person; with client credentials leadsync gets its tokens itself.\nOnce a person has logged in, leadsync never reads the source as the client itself: when the login ends, polls fail until somebody logs in again. `grant` of the source says which of the two is meant.\nThe answer is taken from the browser when it is on this machine, else from the address that you paste.',
  run: async (options, surroundings, [name = '']) => {
    const config = configOf(options, surroundings);
    const { stdout, stderr, stdin } = surroundings;
    requireName(
      'source',
      name,
      config.sources.map((source) => source.name),
    );
    const source = config.sources.find((source) => source.name === name);
    if (!source) return ExitCode.usage;
    requireWanted(source);
    const stop = listenForStop(() => process.exit(ExitCode.notDone));
    const loggedIn = await withLogin(config, source, surroundings, async (login) => {
      stderr.write('Open this address in a browser, and agree there:\n');
      stdout.write(`${printable(login.address)}\n`);
      if (login.unheard)
        stderr.write(`${printable(login.unheard)} So the browser cannot come back to leadsync by itself.\n`);
      stderr.write(login.redirected ? ON_THIS_MACHINE : ELSEWHERE);
      const answer = await answerTo(login, stdin, stderr, stop.signal);
      stop.signal.addEventListener('abort', () => void stderr.write(EXCHANGING), { once: true });
      return await login.finish(answer);
    }).finally(stop.release);
    stderr.write(`${name} is logged in. Its tokens are stored; ${whatFollows(name, loggedIn)}\n`);
    if (source.options.grant === undefined) stderr.write(TO_BE_SURE);
    return ExitCode.done;
  },
});

function whatFollows(name: string, { renewable, expiresAt }: LoggedIn): string {
  if (renewable) return 'leadsync uses and renews them from now on.';
  const end = expiresAt ? `ends at ${printMoment(expiresAt)}` : 'ends when the service says so';
  return `leadsync uses them from now on.\nThe service gave no refresh token, so the login ${end}. Then run \`leadsync login ${name}\` again, or have the service give refresh tokens to this client.`;
}

const EXCHANGING =
  'leadsync is getting the tokens from the service, and to end now would lose them. Ctrl-C again ends it all the same.\n';

const TO_BE_SURE =
  'Set `grant: authorization_code` at the source: then it waits for a login even where data_dir is lost or new.\n';

/** @throws CommandFailure where the configuration has no use for a login */
function requireWanted({ name, options }: SourceConfig): void {
  if (options.grant !== 'client_credentials') return;
  throw new CommandFailure(
    ExitCode.configuration,
    `Source ${name} is read by the client itself (grant: client_credentials): a login would not be used.`,
    'Set `grant: authorization_code` at the source, or leave grant out. Then log in.',
  );
}

const ON_THIS_MACHINE =
  'leadsync waits for the browser to come back. Where the browser runs on another machine, its last page will not load:\nthen paste the whole address of that page here.\n';
const ELSEWHERE = 'Then paste the whole address of the page where the browser ends here:\n';

/**
 * Where the browser ended: it came by itself, or somebody pasted it. What is no answer to this login is asked for again.
 * @throws CommandFailure
 */
async function answerTo(
  login: Login,
  stdin: NodeJS.ReadableStream,
  stderr: LogStream,
  stop: AbortSignal,
): Promise<string> {
  const { redirected } = login;
  const pasted = Promise.withResolvers<string>();
  let mistaken = false;
  const lines = createInterface({ input: stdin });
  const giveUp = (message: string) =>
    pasted.reject(
      new CommandFailure(
        ExitCode.notDone,
        message,
        'Nothing was stored. Start the login again when you like.',
      ),
    );
  const stopped = () => giveUp('The login was stopped.');
  lines.on('line', (line) => {
    if (line.trim() === '') return;
    const wrong = login.wrongWith(line);
    if (!wrong) {
      pasted.resolve(line.trim());
      return;
    }
    mistaken = true;
    stderr.write(`${printable(`${wrong.message} ${wrong.hint}`)}\nThen paste it here:\n`);
  });
  lines.on('close', () => {
    // Without a terminal there may be nobody to paste; the browser can still come. Whoever pasted awaits an end.
    if (mistaken) giveUp('No address that was pasted answers this login.');
    else if (!redirected) giveUp('Nothing was pasted.');
  });
  if (stop.aborted) stopped();
  stop.addEventListener('abort', stopped, { once: true });
  try {
    return await Promise.race([pasted.promise, ...(redirected ? [redirected] : [])]);
  } finally {
    stop.removeEventListener('abort', stopped);
    lines.close();
  }
}
