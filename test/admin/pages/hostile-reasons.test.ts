import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FailureReasons } from '../../../src/admin/contract/deliveries.ts';
import { ROLES } from '../../../src/platform/options/role.ts';
import { hostileStrings } from '../../hostile/own-strings.ts';
import { startBrowser } from '../../support/servers/browser.ts';
import { aSmallWorld } from './a-small-world.ts';
import { breakouts, everyUnseen, expectHarmless, missing } from './harmless.ts';
import { openReader } from './reader.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

const PATH = '/deliveries/reasons';
/** The page shows at most so many reasons, and the tests put so many texts into each. */
const ROWS = 100;
const IN_ROW = 5;

const texts = [...breakouts, ...hostileStrings, ...everyUnseen.map((character) => `a${character}b`)];
const joined = Array.from({ length: Math.ceil(texts.length / IN_ROW) }, (_, at) =>
  texts.slice(at * IN_ROW, (at + 1) * IN_ROW).join(' '),
);
const reasons = [
  ...joined,
  ...breakouts,
  '422',
  `${'x'.repeat(199)}\u{1f525} is where the filter ends`,
  `${'long '.repeat(2_000)}end`,
  `line\n${'break\r\n'.repeat(9)}`,
  '  blanks  around  ',
  '%_\\\\\'"*?[a-z]',
  '+&=#?;/..//deliveries?state=delivered',
]
  // The ledger stores text as UTF-8, and no reason is blank.
  .map((reason) => reason.toWellFormed())
  .filter((reason) => reason.trim() !== '');

/** Groups with these reasons, in which several sinks have hostile names, too. */
function groupsOf(some: readonly string[]): FailureReasons['rows'] {
  return some.map((reason, at) => ({
    state: at % 2 === 0 ? ('dead' as const) : ('pending' as const),
    reason,
    deliveries: 3,
    sinks: [
      { sink: 'crm', deliveries: 2 },
      { sink: breakouts[at % breakouts.length] ?? '', deliveries: 1 },
    ],
  }));
}

test.each(ROLES)('to the role %s, every reason is text, shown whole', async (role) => {
  const { page, go, operations, faults } = await openReader(browser, { refreshMs: 60_000, role });
  for (let start = 0; start < reasons.length; start += ROWS) {
    const rows = groupsOf(reasons.slice(start, start + ROWS));
    operations.failureReasons = async () => ({ rows, others: 7, complete: false });
    await go(PATH);
    expect(await missing(page, [...rows.map(({ reason }) => reason), ...breakouts])).toEqual([]);
    await expectHarmless(page, faults, `${role} from reason ${start}`);
    expect(await page.locator('tbody tr').count()).toBe(rows.length);
    expect(await page.locator('main button').count()).toBe(0); // the page only reads, whatever the role
  }
});

test.each([390, 1024])('at a width of %d px, no reason makes the page wider', async (width) => {
  const { page, go, operations } = await openReader(browser, {
    refreshMs: 60_000,
    context: { viewport: { width, height: 800 } },
  });
  const rows = groupsOf(['x'.repeat(5_000), '\u{1f525}'.repeat(900), 'https://a.example/'.repeat(99)]);
  operations.failureReasons = async () => ({ rows, others: 0, complete: true });
  await go(PATH);
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect(wider).toBeLessThanOrEqual(0);
});

test('the link of each reason lists deliveries with that reason, of one sink or of all', async () => {
  const { url, operations } = await openReader(browser, { world: aSmallWorld() });
  const [row] = operations.deliveryRows;
  if (!row) throw new Error('the world has deliveries');
  for (const reason of reasons) {
    operations.deliveryRows = [
      { ...row, delivery_id: 'its', state: 'dead', sink: 'crm', reason },
      { ...row, delivery_id: 'other', state: 'dead', sink: 'crm', reason: null },
    ];
    operations.failureReasons = async () => ({
      rows: [{ state: 'dead', reason, deliveries: 1, sinks: [{ sink: 'crm', deliveries: 1 }] }],
      others: 0,
      complete: true,
    });
    const html = await (await fetch(`${url}${PATH}`)).text();
    const links = [...html.matchAll(/href="(\/deliveries\?[^"]*)"/g)].map(([, link = '']) =>
      link.replaceAll('&amp;', '&'),
    );
    expect(links, reason).toHaveLength(2);
    for (const link of links) {
      const listed = await fetch(`${url}${link}`);
      expect(listed.status, `${reason} ${link}`).toBe(200);
      const ids = [...(await listed.text()).matchAll(/<tr id="delivery-([^"]*)"/g)].map(([, id]) => id);
      expect(ids, `${reason} ${link}`).toEqual(['its']);
    }
  }
});
