import { createInterface } from 'node:readline';
import type { SourceConfig } from '../../config/contract/config.ts';
import { withLogin } from '../../operations/source-login.ts';
import { listenForStop } from '../../platform/process/stop-signals.ts';
import { printMoment } from '../../platform/text/human-readable.ts';
import { printable } from '../../platform/text/printable.ts';
import type { LoggedIn, Login } from '../../source/auth/authorization-code-login.ts';
import type { LogStream } from '../../telemetry/logger.ts';
import { requireName } from '../arguments/require-name.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { configOf } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { recordAction } from '../shell/record-action.ts';

/** `leadsync login SOURCE`: logs a person in with the authorization code grant, and stores the tokens. */
export const command = defineCommand({
  examples: ['leadsync login main'],
  notes:
    'Only needed if leads are read on behalf of a person. With client credentials leadsync gets its tokens itself.\nAfter a login, leadsync never reads the source with client credentials: when the login ends, polls fail until a person logs in again. The option `grant` of the source selects client credentials or a login.\nIf your browser runs on this machine, it returns the authorization code to leadsync. If it runs elsewhere, copy the address of the last page from the browser and paste it here.',
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
      stderr.write('Open this address in a browser, and grant access there:\n');
      stdout.write(`${printable(login.address)}\n`);
      if (login.listenFailure)
        stderr.write(
          `${printable(login.listenFailure)} The browser cannot return the code to leadsync by itself.\n`,
        );
      stderr.write(login.redirected ? ON_THIS_MACHINE : ELSEWHERE);
      const answer = await answerTo(login, stdin, stderr, stop.signal);
      stop.signal.addEventListener('abort', () => void stderr.write(EXCHANGING), { once: true });
      await recordAction(config, surroundings, 'source-login', { source: name });
      return await login.finish(answer);
    }).finally(stop.release);
    stderr.write(`${name} is logged in. Its tokens are stored; ${whatFollows(name, loggedIn)}\n`);
    if (source.options.grant === undefined) stderr.write(TO_BE_SURE);
    return ExitCode.done;
  },
});

function whatFollows(name: string, { renewable, expiresAt }: LoggedIn): string {
  if (renewable) return 'leadsync uses and renews them from now on.';
  const end = expiresAt ? `ends at ${printMoment(expiresAt)}` : 'ends when the service ends it';
  return `leadsync uses them from now on.\nThe service returned no refresh token, so the login ${end}. Then run \`leadsync login ${name}\` again, or have the service issue refresh tokens to this client.`;
}

const EXCHANGING =
  'leadsync is requesting the tokens from the service; stopping now would lose them. Press Ctrl-C again to stop anyway.\n';

const TO_BE_SURE =
  'Set `grant: authorization_code` for this source, so that leadsync waits for a login even if data_dir is lost or new.\n';

/** @throws CommandFailure if the source uses client credentials and so needs no login */
function requireWanted({ name, options }: SourceConfig): void {
  if (options.grant !== 'client_credentials') return;
  throw new CommandFailure(
    ExitCode.configuration,
    `Source ${name} uses client credentials (grant: client_credentials), so a login would have no effect.`,
    'Set `grant: authorization_code` for the source, or remove grant. Then log in.',
  );
}

const ON_THIS_MACHINE =
  'leadsync waits for the code from the browser. If the browser runs on another machine, its last page does not load:\nthen paste the complete address of that page here.\n';
const ELSEWHERE = 'Then paste the complete address of the last page here:\n';

/**
 * Returns the address of the browser's last page, from the browser or as the user pasted it. Asks again if a pasted address does not belong
 * to this login.
 * @throws CommandFailure if the user stops the login, if the input ends after a wrong address, or if it ends while no browser can return
 * the code
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
        'Nothing was stored. You can start the login again at any time.',
      ),
    );
  const stopped = () => giveUp('The login was stopped.');
  lines.on('line', (line) => {
    if (line.trim() === '') return;
    const wrong = login.faultInAddress(line);
    if (!wrong) {
      pasted.resolve(line.trim());
      return;
    }
    mistaken = true;
    stderr.write(`${printable(`${wrong.message} ${wrong.hint}`)}\nThen paste it here:\n`);
  });
  lines.on('close', () => {
    // Without a terminal, the input may be closed from the start, and only the browser can answer. After a wrong address, the command ends.
    if (mistaken) giveUp('None of the pasted addresses belongs to this login.');
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
