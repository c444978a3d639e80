import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { AssetName } from './assets.ts';
import { formattedText } from './formatted-text.ts';
import { head } from './layout.ts';
import type { Failure } from './site.ts';

/**
 * Returns an error page for a client without a credential. Unlike other pages, it does not show the state of leadsync. `offersLogout`: whether
 * the page has a button that logs out at leadsync and at the OpenID provider, instead of a link to the overview.
 */
export function publicFailurePage(
  assetAddress: (name: AssetName) => string,
  { title, what, next }: Failure,
  offersLogout = false,
): VNode {
  return html`<html lang="en">
    ${head(`${title} · leadsync`, assetAddress, 'well', false)}
    <body class="login">
      <main id="main">
        <h1>${title}</h1>
        <section id="ask" class="failure"><p>${formattedText(what)}</p><p>${formattedText(next)}</p></section>
        ${
          offersLogout
            ? html`<form method="post" action="/logout" class="buttons"><button name="everywhere" value="yes">Log out</button></form>`
            : html`<p class="buttons"><a class="button" href="/">To the overview</a></p>`
        }
      </main>
    </body>
  </html>`;
}
