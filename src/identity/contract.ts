/** Path at which a browser begins a login. Without its host, because the host is that of the request or of `admin.public_url`. */
export const LOGIN_PATH = '/login/oidc';
/** Path to which the provider sends the browser back: the redirect URI, without its host. */
export const CALLBACK_PATH = '/login/oidc/callback';

/** The values that a login keeps from the authorization request to the redirect back (RFC 6749, section 4.1; RFC 7636; OpenID Connect Core). */
export interface LoginAttempt {
  /** Address of the provider at which the person logs in. */
  readonly address: string;
  readonly redirectUri: string;
  /** Identifies the attempt in the redirect back. Must stay secret until then. */
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** A person, as the provider identifies them. */
export interface Identity {
  /** Value of the claim that names the person: printable ASCII, at most 200 characters. */
  readonly name: string;
  /** The claim `sub`, which identifies the person even if several people have had the same name: at most 255 characters. */
  readonly subject: string;
  /** Groups of the person at the time of the login. */
  readonly groups: readonly string[];
  /** The ID token, from which the provider recognises its session at logout. Undefined if it is too long for a URL. */
  readonly idToken: string | undefined;
}

/** An OpenID provider that logs people in. */
export interface IdentityProvider {
  /** Name of the provider on the login page. */
  readonly label: string;
  /** The provider's issuer URL. A subject is unique within one issuer. */
  readonly issuer: string;
  /** Identifies the provider, the client and the claims. Two configurations with the same key give the same people the same names. */
  readonly key: string;
  /** Begins a login. @throws LoginFailed if the provider cannot be reached or used */
  begin(redirectUri: string): Promise<LoginAttempt>;
  /**
   * Exchanges the code in the provider's answer for the person. Works only once for each code.
   * @param answer the query of the redirect back
   * @throws LoginFailed
   */
  finish(answer: URLSearchParams, attempt: LoginAttempt): Promise<Identity>;
  /**
   * Returns the address that ends the session at the provider (OpenID Connect RP-Initiated Logout). Undefined if the provider has none or does
   * not answer.
   */
  logoutAddress(idToken: string | undefined, returnTo: string): Promise<string | undefined>;
}

/**
 * Why a login failed. `unreachable`: the provider does not answer. `protocol`: it violates OpenID Connect or lacks a feature that leadsync needs.
 * `client`: it does not accept leadsync as a client. `declined`: it refused the person. `expired`: the code was used or has expired. `token`: the ID
 * token is not valid. `person`: the token does not name the person.
 */
export type LoginFailure =
  | 'unreachable'
  | 'protocol'
  | 'client'
  | 'declined'
  | 'expired'
  | 'token'
  | 'person';

/** A failed login. The error message contains no code, no token and no claim value. */
export class LoginFailed extends Error {
  override readonly name = 'LoginFailed';
  readonly reason: LoginFailure;
  /** The next step. */
  readonly hint: string;

  constructor(reason: LoginFailure, message: string, hint: string) {
    super(message);
    this.reason = reason;
    this.hint = hint;
  }
}
