import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { AssetName } from './parts/assets.ts';
import { formattedText } from './parts/formatted-text.ts';
import { head } from './parts/layout.ts';
import { renderDocument } from './parts/render-document.ts';

/** Content of the login page. */
export interface LoginPage {
  /** Why the last attempt failed, in the syntax of `formattedText`. Undefined before the first attempt. */
  readonly failure?: string | undefined;
  /** Whether the last attempt had a wrong token. If so, the token form stays open. */
  readonly isTokenWrong?: boolean;
  /** Path of this server to open after the login. */
  readonly next?: string | undefined;
}

/** The ways to log in. */
export interface LoginWays {
  /** Whether a token can be entered. */
  readonly token: boolean;
  /** The OpenID provider: its name, and the path of this server that begins the login there. */
  readonly provider?: { readonly label: string; readonly path: string } | undefined;
}

/** Returns the HTML of the login page: a link that begins the login at the provider, and a form that posts a token to `/login`. */
export function loginPage(
  assetAddress: (name: AssetName) => string,
  { failure, next, isTokenWrong = false }: LoginPage,
  { token, provider }: LoginWays,
): string {
  const form = tokenForm(next, provider === undefined);
  const document = html`<html lang="en">
    ${head('Log in · leadsync', assetAddress, 'well', false)}
    <body class="login">
      <main id="main">
        <h1>leadsync</h1>
        ${failure && html`<p class="notice bad" role="alert">${formattedText(failure)}</p>`}
        ${
          // A link and not a form, because the content security policy allows forms to lead only to this server.
          provider &&
          html`<p class="buttons"><a class="button primary" href=${addressOf(provider.path, next)}>Log in with ${provider.label}</a></p>`
        }
        ${token && (provider ? html`<details open=${isTokenWrong}><summary>Log in with a token</summary>${form}</details>` : form)}
      </main>
    </body>
  </html>`;
  return renderDocument(document);
}

function addressOf(path: string, next: string | undefined): string {
  return next === undefined || next === '/' ? path : `${path}?next=${encodeURIComponent(next)}`;
}

function tokenForm(next: string | undefined, isFirst: boolean): VNode {
  return html`<form method="post" action="/login">
    ${next && html`<input type="hidden" name="next" value=${next} />`}
    <label for="token">Token</label>
    <input id="token" name="token" type="password" required autofocus=${isFirst} autocomplete="current-password" aria-describedby="hint" />
    <p id="hint" class="hint">A token from the configuration: <code>admin.token</code>, or your own from <code>admin.tokens</code>.</p>
    <p class="buttons"><button class=${isFirst ? 'primary' : undefined}>Log in</button></p>
  </form>`;
}

/** Content of a page that opens another address automatically. */
export interface OnwardPage {
  readonly title: string;
  /** Text of the link, for browsers that do not open the address automatically. */
  readonly link: string;
  readonly to: string;
}

/** Returns the HTML of a page that opens another address automatically, without a script. */
export function onwardPage(
  assetAddress: (name: AssetName) => string,
  { title, link, to }: OnwardPage,
): string {
  const document = html`<html lang="en">
    ${head(`${title} · leadsync`, assetAddress, 'well', false, to)}
    <body class="login">
      <main id="main">
        <h1>${title}</h1>
        <p class="buttons"><a class="button primary" href=${to}>${link}</a></p>
      </main>
    </body>
  </html>`;
  return renderDocument(document);
}
