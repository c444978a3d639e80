import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { AssetName } from './assets.ts';
import { head } from './layout.ts';
import { markup } from './markup.ts';
import type { Failure } from './site.ts';

/** Returns an error page for a client without a credential. Unlike other pages, it does not show the state of leadsync. */
export function publicFailurePage(
  assetAddress: (name: AssetName) => string,
  { title, what, next }: Failure,
): VNode {
  return html`<html lang="en">
    ${head(`${title} · leadsync`, assetAddress, 'well', false)}
    <body class="login">
      <main id="main">
        <h1>${title}</h1>
        <section id="ask" class="failure"><p>${markup(what)}</p><p>${markup(next)}</p></section>
        <p class="buttons"><a class="button" href="/">To the overview</a></p>
      </main>
    </body>
  </html>`;
}
