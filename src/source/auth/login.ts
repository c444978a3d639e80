import { randomPKCECodeVerifier, randomState } from 'openid-client';
import { SourceError } from '../contract/source.ts';
import { loginAnswerIn } from './login-answer.ts';
import { listenForRedirect, type RedirectListener } from './redirect-listener.ts';
import type { Token } from './token.ts';
import type { LoginSecrets, TokenEndpoint } from './token-endpoint.ts';

/** What a login brought. */
export interface LoggedIn {
  /** leadsync can renew it by itself; else somebody has to log in again when it has ended. */
  readonly renewable: boolean;
  /** When the access token ends; undefined: the service did not say. */
  readonly expiresAt: Date | undefined;
}

/** A login under way: a person opens `address`, agrees, and the browser comes back to `redirectUri`. */
export interface Login {
  /** The address to open in a browser. */
  readonly address: string;
  readonly redirectUri: string;
  /**
   * Resolves with the whole address that the browser came back to. Undefined when `redirect_uri` does not lead to this
   * machine, or its port cannot be listened on: then the person copies it from the browser's address bar. Never rejects.
   */
  readonly redirected: Promise<string> | undefined;
  /** Why leadsync does not listen at a `redirect_uri` that leads to this machine; undefined: it does, or need not. */
  readonly unheard: string | undefined;
  /** What is wrong with an address that somebody pasted, and what to do; undefined when it answers this login. */
  wrongWith(pasted: string): { readonly message: string; readonly hint: string } | undefined;
  /**
   * Exchanges the code in that address for tokens and stores them. Works once.
   * @throws SourceError: not an answer to this login, refused, expired, or the tokens cannot be stored
   */
  finish(redirectedTo: string): Promise<LoggedIn>;
  /** Stops waiting for the browser. */
  close(): Promise<void>;
}

/**
 * Starts a login by authorization code with PKCE and state.
 * @throws SourceError when no `redirect_uri` is configured and no port can be had
 */
export async function startLogin(
  endpoint: TokenEndpoint,
  configuredRedirectUri: string | undefined,
  keep: (token: Token) => Promise<void>,
): Promise<Login> {
  const { listener, unheard } = await tryListening(configuredRedirectUri);
  const redirectUri = configuredRedirectUri ?? listener?.uri ?? '';
  const secrets: LoginSecrets = { redirectUri, state: randomState(), verifier: randomPKCECodeVerifier() };
  try {
    const address = await endpoint.addressFor(secrets);
    return new StartedLogin({ endpoint, keep, secrets, address, listener, unheard });
  } catch (error) {
    await listener?.close();
    throw error;
  }
}

/** A registration is often not the person's to change, and the address can be pasted whoever listens there. */
async function tryListening(
  configured: string | undefined,
): Promise<{ listener: RedirectListener | undefined; unheard: string | undefined }> {
  try {
    return { listener: await listenForRedirect(configured), unheard: undefined };
  } catch (error) {
    if (configured === undefined || !(error instanceof SourceError)) throw error;
    return { listener: undefined, unheard: error.message };
  }
}

interface StartedParts {
  readonly endpoint: TokenEndpoint;
  readonly keep: (token: Token) => Promise<void>;
  readonly secrets: LoginSecrets;
  readonly address: string;
  readonly listener: RedirectListener | undefined;
  readonly unheard: string | undefined;
}

class StartedLogin implements Login {
  readonly address: string;
  readonly redirectUri: string;
  readonly redirected: Promise<string> | undefined;
  readonly unheard: string | undefined;
  readonly #parts: StartedParts;

  constructor(parts: StartedParts) {
    this.#parts = parts;
    this.address = parts.address;
    this.unheard = parts.unheard;
    this.redirectUri = parts.secrets.redirectUri;
    this.redirected = parts.listener?.redirected(parts.secrets.state);
  }

  wrongWith(pasted: string): { message: string; hint: string } | undefined {
    const answer = answerIn(pasted);
    if (answer === undefined)
      return {
        message: 'That address holds no code from the service.',
        hint: `Copy the whole address from the browser; it begins with ${this.redirectUri}`,
      };
    if (answer.get('state') !== this.#parts.secrets.state)
      return {
        message: 'That address answers another login than this one.',
        hint: 'Open the address that was printed last, and copy the one where the browser ends.',
      };
    return undefined;
  }

  async finish(redirectedTo: string): Promise<LoggedIn> {
    const wrong = this.wrongWith(redirectedTo);
    if (wrong) throw new SourceError('credentials', wrong.message, { hint: wrong.hint });
    const { refreshToken, expiresAt } = await this.#obtain(answerIn(redirectedTo) as URLSearchParams);
    return { renewable: refreshToken !== undefined, expiresAt };
  }

  async #obtain(answer: URLSearchParams): Promise<Token> {
    const { endpoint, keep, secrets } = this.#parts;
    try {
      const token = await endpoint.redeem(answer, secrets);
      await keep(token);
      return token;
    } catch (error) {
      throw error instanceof SourceError ? nothingStored(error) : error;
    }
  }

  async close(): Promise<void> {
    await this.#parts.listener?.close();
  }
}

/** Unlike a poll, a login is not tried again: its code may be used up. What a refused login needs, its own hint says. */
function nothingStored(error: SourceError): SourceError {
  const { code, message, hint, httpStatus } = error;
  if (code === 'credentials') return error;
  const next = `${hint} Nothing was stored: start the login again once that is mended.`;
  return new SourceError(code, message, { hint: next, httpStatus, cause: error });
}

function answerIn(text: string): URLSearchParams | undefined {
  const url = URL.parse(text.trim());
  return url ? loginAnswerIn(url) : undefined;
}
