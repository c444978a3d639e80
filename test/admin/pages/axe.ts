import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

/** The script of axe, for `addInitScript` of a page whose context has `bypassCSP`: axe is no script of a page. */
export const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** Returns what axe finds that keeps people out: by every rule in the light theme, by those of colour in the dark one. */
export async function seriousFindings(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    const rules = colorScheme === 'light' ? {} : { runOnly: ['color-contrast'] };
    const options = JSON.stringify({ resultTypes: ['violations'], ...rules });
    const { violations } = await page.evaluate<AxeResults>(`axe.run(${options})`);
    found.push(
      ...violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${colorScheme}: ${id}: ${html}`)),
    );
  }
  return found;
}
