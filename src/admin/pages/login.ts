import { html } from 'htm/preact';
import type { AssetName } from './parts/assets.ts';
import { head } from './parts/layout.ts';
import { renderDocument } from './parts/render-document.ts';

/** What the page says, and where it goes on to. */
export interface LoginPage {
  /** Why there is no session yet, in a sentence; nothing when nobody has tried. */
  readonly failure?: string | undefined;
  /** The page to go on to: a path of this server. */
  readonly next?: string | undefined;
}

/** The page that asks for the token and posts it to `/login`, as a document. */
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
