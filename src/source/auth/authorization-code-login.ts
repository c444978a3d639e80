import { randomPKCECodeVerifier, randomState } from 'openid-client';
import { SourceError } from '../contract/source.ts';
import { loginAnswerIn } from './login-answer.ts';
import { listenForRedirect, type RedirectListener } from './redirect-listener.ts';
import type { Token } from './token.ts';
import type { LoginSecrets, TokenEndpoint } from './token-endpoint.ts';

/** The result of a successful login. */
export interface LoggedIn {
  /** Whether the service issued a refresh token. Without one, a person must log in again when the access token expires. */
  readonly renewable: boolean;
  /** When the access token expires; undefined if the service did not say. */
  readonly expiresAt: Date | undefined;
}

/** A login in progress: a person opens `address` and agrees, and the service redirects the browser to `redirectUri`. */
export interface Login {
  /** The address to open in a browser. */
  readonly address: string;
  readonly redirectUri: string;
  /**
   * Resolves with the complete address of the redirect; never rejects. Undefined if `redirect_uri` is not on this machine or
   * leadsync cannot listen on its port: then the person copies the address from the browser's address bar.
   */
  readonly redirected: Promise<string> | undefined;
  /** Why leadsync cannot listen at a `redirect_uri` on this machine; undefined if it listens, or if the address is elsewhere. */
  readonly listenFailure: string | undefined;
  /** Returns the fault of a pasted address, and the next step; undefined if the address answers this login. */
  faultInAddress(pasted: string): { readonly message: string; readonly hint: string } | undefined;
  /**
   * Exchanges the code in the redirect's address for tokens and stores the tokens. Works only once.
   * @throws SourceError if the address does not answer this login, the code is refused or expired, or the tokens cannot be stored
   */
  finish(redirectedTo: string): Promise<LoggedIn>;
  /** Stops listening for the browser. */
  close(): Promise<void>;
}

/**
 * Starts an authorization code login with PKCE and state.
 * @throws SourceError if no `redirect_uri` is configured and leadsync cannot listen on any port
 */
export async function startLogin(
  endpoint: TokenEndpoint,
  configuredRedirectUri: string | undefined,
  keep: (token: Token) => Promise<void>,
): Promise<Login> {
  const { listener, listenFailure } = await tryListening(configuredRedirectUri);
  const redirectUri = configuredRedirectUri ?? listener?.uri ?? '';
  const secrets: LoginSecrets = { redirectUri, state: randomState(), verifier: randomPKCECodeVerifier() };
  try {
    const address = await endpoint.addressFor(secrets);
    return new StartedLogin({ endpoint, keep, secrets, address, listener, listenFailure });
  } catch (error) {
    await listener?.close();
    throw error;
  }
}

/**
 * Listens for the redirect. If the port of a configured `redirect_uri` is taken, the login continues without a listener: the person can
 * paste the address from the browser, and often cannot configure another `redirect_uri`.
 */
async function tryListening(
  configured: string | undefined,
): Promise<{ listener: RedirectListener | undefined; listenFailure: string | undefined }> {
  try {
    return { listener: await listenForRedirect(configured), listenFailure: undefined };
  } catch (error) {
    if (configured === undefined || !(error instanceof SourceError)) throw error;
    return { listener: undefined, listenFailure: error.message };
  }
}

interface StartedParts {
  readonly endpoint: TokenEndpoint;
  readonly keep: (token: Token) => Promise<void>;
  readonly secrets: LoginSecrets;
  readonly address: string;
  readonly listener: RedirectListener | undefined;
  readonly listenFailure: string | undefined;
}

class StartedLogin implements Login {
  readonly address: string;
  readonly redirectUri: string;
  readonly redirected: Promise<string> | undefined;
  readonly listenFailure: string | undefined;
  readonly #parts: StartedParts;

  constructor(parts: StartedParts) {
    this.#parts = parts;
    this.address = parts.address;
    this.listenFailure = parts.listenFailure;
    this.redirectUri = parts.secrets.redirectUri;
    this.redirected = parts.listener?.redirected(parts.secrets.state);
  }

  faultInAddress(pasted: string): { message: string; hint: string } | undefined {
    const answer = answerIn(pasted);
    if (answer === undefined)
      return {
        message: 'That address contains no code from the service.',
        hint: `Copy the whole address from the browser; it begins with ${this.redirectUri}`,
      };
    if (answer.get('state') !== this.#parts.secrets.state)
      return {
        message: 'That address belongs to a different login.',
        hint: 'Open the address that was printed last, then copy the address that the browser shows at the end.',
      };
    return undefined;
  }

  async finish(redirectedTo: string): Promise<LoggedIn> {
    const wrong = this.faultInAddress(redirectedTo);
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

/**
 * Returns the error for a failed login, with a hint to start again: unlike a poll, a login is not retried, because its code may be used up. Returns
 * the error for a refused login unchanged, because its hint already says what to do.
 */
function nothingStored(error: SourceError): SourceError {
  const { code, message, hint, httpStatus } = error;
  if (code === 'credentials') return error;
  const next = `${hint} leadsync stored nothing. Fix the problem, then start the login again.`;
  return new SourceError(code, message, { hint: next, httpStatus, cause: error });
}

function answerIn(text: string): URLSearchParams | undefined {
  const url = URL.parse(text.trim());
  return url ? loginAnswerIn(url) : undefined;
}
