import type { Answer, ApiServer, CallLimits } from '../http/api-server.ts';
import { readBody } from '../http/json-answer.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { loginFailure } from './judge-answer.ts';
import type { SalesforceOptions } from './options.ts';

/** A session of the user that the app runs as. */
export interface Session {
  readonly accessToken: string;
  /** The id of the user. */
  readonly userId: string;
}

/** Visible ASCII, as a header requires. */
const TOKEN = /^[\x21-\x7e]+$/;
/** The id of a token contains the ids of the org and of the user: `https://login.salesforce.com/id/00D…/005…`. */
const IDENTITY = /\/id\/\w{15,18}\/(\w{15,18})$/;
const NEVER = new AbortController().signal;

/**
 * The session with an org, by client credentials (RFC 6749, section 4.4;
 * https://help.salesforce.com/s/articleView?id=xcloud.remoteaccess_oauth_client_credentials_flow.htm). Salesforce does not say when a session
 * ends, so leadsync uses it until an answer says that it has ended.
 */
export class Sessions {
  readonly #server: ApiServer;
  readonly #options: Pick<SalesforceOptions, 'client_id' | 'client_secret'>;
  /** Single flight: requests that need a session at the same time share one. */
  #session: Promise<Session> | undefined;

  constructor(server: ApiServer, options: Pick<SalesforceOptions, 'client_id' | 'client_secret'>) {
    this.#server = server;
    this.#options = options;
  }

  /** Returns the current session, or a new one if there is none. @throws SinkUnavailable */
  async get({ stop, confirmLease }: Pick<CallLimits, 'stop' | 'confirmLease'>): Promise<Session> {
    if (stop.aborted) throw this.#interrupted();
    if (this.#session === undefined) {
      confirmLease();
      this.#begin();
    }
    // The request goes on for the others if this caller is stopped.
    const stopped = Promise.withResolvers<never>();
    const onStop = () => stopped.reject(this.#interrupted());
    stop.addEventListener('abort', onStop, { once: true });
    try {
      return await Promise.race([this.#session as Promise<Session>, stopped.promise]);
    } finally {
      stop.removeEventListener('abort', onStop);
    }
  }

  /** Discards a session that the org no longer accepts. */
  async forget(ended: Session): Promise<void> {
    const current = this.#session;
    if ((await current?.catch(() => undefined)) === ended && this.#session === current)
      this.#session = undefined;
  }

  #begin(): void {
    const session = this.#logIn();
    this.#session = session;
    session.catch(() => {
      if (this.#session === session) this.#session = undefined;
    });
  }

  async #logIn(): Promise<Session> {
    const { client_id, client_secret } = this.#options;
    const form = { grant_type: 'client_credentials', client_id, client_secret: client_secret.reveal() };
    const answer = await this.#server.call(
      {
        path: '/services/oauth2/token',
        headers: { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams(form).toString(),
      },
      { stop: NEVER, confirmLease: () => undefined },
    );
    return readSession(answer) ?? this.#refuse(answer);
  }

  #refuse(answer: Answer): never {
    throw loginFailure(answer, this.#server.origin);
  }

  #interrupted(): SinkUnavailable {
    return new SinkUnavailable(
      `${this.#server.origin} had not given a token when leadsync ended the attempt.`,
      { hint: '', unsent: true },
    );
  }
}

function readSession(answer: Answer): Session | undefined {
  if (answer.httpStatus !== 200) return undefined;
  const { access_token: accessToken, id } = readBody(answer) ?? {};
  const [, userId] = IDENTITY.exec(typeof id === 'string' ? id : '') ?? [];
  if (typeof accessToken !== 'string' || !TOKEN.test(accessToken)) return undefined;
  return { accessToken, userId: userId ?? '' };
}
