import { html } from 'htm/preact';
import type { AssetName } from './parts/assets.ts';
import { head } from './parts/layout.ts';
import { renderDocument } from './parts/render-document.ts';

/** Content of the login page. */
export interface LoginPage {
  /** Why the last attempt failed, in a sentence. Undefined before the first attempt. */
  readonly failure?: string | undefined;
  /** Path of this server to open after the login. */
  readonly next?: string | undefined;
}

/** Returns the HTML of the login page, which posts the token to `/login`. */
export function loginPage(assetAddress: (name: AssetName) => string, { failure, next }: LoginPage): string {
  const document = html`<html lang="en">
    ${head('Log in · leadsync', assetAddress, 'well', false)}
    <body class="login">
      <main id="main">
        <h1>leadsync</h1>
        ${failure && html`<p class="notice bad" role="alert">${failure}</p>`}
        <form method="post" action="/login">
          ${next && html`<input type="hidden" name="next" value=${next} />`}
          <label for="token">Token</label>
          <input id="token" name="token" type="password" required autofocus autocomplete="current-password" aria-describedby="hint" />
          <p id="hint" class="hint">The value of <code>admin.token</code> in the configuration.</p>
          <p class="buttons"><button class="primary">Log in</button></p>
        </form>
      </main>
    </body>
  </html>`;
  return renderDocument(document);
}
