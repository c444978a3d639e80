import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

/** The script of axe, for `addInitScript` of a page whose context has `bypassCSP`: axe is no script of a page. */
export const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

const WIDE = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 844 };
/** The themes differ in colours alone. */
const COLOURS = { runOnly: ['color-contrast'] };
/** Off by default in axe: each target that is pressed has 24 px, or room around it. */
const EVERY_RULE = { rules: { 'target-size': { enabled: true } } };

const LOOKS = [
  { name: 'light, wide', size: WIDE, colorScheme: 'light', rules: EVERY_RULE },
  { name: 'dark, wide', size: WIDE, colorScheme: 'dark', rules: COLOURS },
  { name: 'dark, phone', size: PHONE, colorScheme: 'dark', rules: COLOURS },
  { name: 'light, phone', size: PHONE, colorScheme: 'light', rules: EVERY_RULE },
] as const;

/**
 * Returns what axe finds on a page, of every impact and with the rules of best practice, on a wide screen and on a phone, in both themes. Opens all
 * details first, because axe skips what is hidden. `within` limits it to the element with that selector.
 */
export async function findings(page: Page, within = 'html'): Promise<string[]> {
  await page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
  const found: string[] = [];
  for (const { name, size, colorScheme, rules } of LOOKS) {
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme });
    const options = JSON.stringify({ resultTypes: ['violations'], ...rules });
    const { violations } = await page.evaluate<AxeResults>(`axe.run('${within}', ${options})`);
    found.push(
      ...violations.flatMap(({ id, impact, nodes }) =>
        nodes.map(({ html }) => `${name}: ${id} (${impact}): ${html}`),
      ),
    );
  }
  return found;
}
