import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hostileLead } from '../../hostile/hostile-lead.ts';
import { hostileStrings } from '../../hostile/own-strings.ts';
import { startBrowser } from '../../support/servers/browser.ts';
import { aWorld } from './a-world.ts';
import { anAnswer } from './an-answer.ts';
import type { World } from './fake-operations.ts';
import { openReader } from './reader.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

/** What a page would be broken out of by: markup, ends of attributes and of elements, our own attributes. */
const breakouts = [
  '"><script>alert(1)</script>',
  "'><img src=x onerror=alert(1)>",
  '</textarea></title></style></script><script>alert(1)</script>',
  '" autofocus onfocus="alert(1)" x="',
  '<div hx-get="/leads" hx-trigger="load">',
  '"]<hx-partial hx-target="body"><b>owned</b></hx-partial>',
  '--><svg onload=alert(1)>',
  '<template hx type="partial" hx-target="#main">owned</template>',
  'javascript:alert(1)',
  '&lt;script&gt;',
  '<base href="//example.com">',
];

/** What no page may hold, stated apart from how the code does it: from and to. */
const UNSEEN = [
  ...[
    [0x00, 0x08],
    [0x0b, 0x1f],
    [0x7f, 0x9f],
    [0xfeff, 0xfeff],
  ], // controls but tab and line feed, the byte order mark
  ...[
    [0x202a, 0x202e],
    [0x2066, 0x2069],
    [0x200e, 0x200f],
    [0x61c, 0x61c],
    [0x2028, 0x2029],
  ], // directions, lines
] as const;

function isUnseen(character: string): boolean {
  const code = character.charCodeAt(0);
  return UNSEEN.some(([from = 0, to = 0]) => code >= from && code <= to);
}

const everyUnseen = UNSEEN.flatMap(([from = 0, to = 0]) =>
  Array.from({ length: to - from + 1 }, (_, at) => String.fromCharCode(from + at)),
);

const texts = [...breakouts, ...hostileStrings, everyUnseen.map((character) => `a${character}b`).join(' ')];
/** So many rows on one page, which is what a page shows at most, and so many texts in each field. */
const ROWS = 50;
const IN_FIELD = 4;

test('no text that a stranger has written runs, breaks out or is lost, in any field of any page', async () => {
  const { page, go, operations, faults } = await openReader(browser, { refreshMs: 60_000 });
  for (let start = 0; start < texts.length; start += ROWS * IN_FIELD) {
    const some = texts.slice(start, start + ROWS * IN_FIELD);
    Object.assign(operations, hostileWorld(inFields(some)));
    for (const path of [
      '/',
      '/leads',
      '/deliveries',
      '/sinks',
      '/polls',
      '/configuration',
      '/leads/main/1',
      '/playground',
    ]) {
      const where = `${path} from text ${start}`;
      await go(path);
      expect(await missing(page, some), where).toEqual([]);
      await expectHarmless(page, faults, where);
    }
  }
});

test('a lead’s content is text, whatever it is, and so is what destinations answered', async () => {
  const { page, go, operations, faults } = await openReader(browser, { refreshMs: 60_000 });
  await go('/leads/main/48196');
  for (const text of inFields([...breakouts, '\u202etxt.exe', '{{7*7}}', ...everyUnseen])) {
    operations.rawOf = () => hostileLead(48_196, text).raw;
    operations.answers = [anAnswer(text)];
    await page.getByRole('button', { name: 'Show the lead’s data' }).click();
    await page.getByRole('link', { name: 'Hide' }).waitFor();
    await expectHarmless(page, faults, text);
    await page.getByRole('link', { name: 'Hide' }).click();
    await page.getByRole('button', { name: 'Show the lead’s data' }).waitFor();
  }
});

test('what sinks get, and what an expression makes of a lead, is text', async () => {
  const { page, go, operations, faults } = await openReader(browser, { refreshMs: 60_000 });
  for (const text of inFields([...breakouts, '\u202etxt.exe', ...everyUnseen])) {
    const preview = { target: text, fields: [{ name: text, value: text }], content: text, truncated: true };
    const fields = [{ name: text, json: JSON.stringify(text) }];
    const texts = { sink: text, type: text, reason: text, note: text };
    operations.previewed = [{ ...texts, state: 'sent', delivery_state: null, fields, previews: [preview] }];
    await go('/leads/main/48196');
    await page.getByRole('button', { name: 'Show what each sink gets' }).click();
    await page.locator('#previews .card').waitFor();
    expect(await missing(page, [text]), text).toEqual([]);
    await expectHarmless(page, faults, text);
    await go('/playground');
    const expression = `x${text.replaceAll(/[\r\n\0]/g, '')}`; // never empty, which is no expression
    operations.tried = { kind: 'value', type: text, json: JSON.stringify(text) };
    for (const answer of ['value', 'fault'] as const) {
      if (answer === 'fault')
        operations.tried = { kind: 'fault', message: text, hint: text, place: { start: 1, end: 4 } };
      await page.getByLabel('Expression').fill(expression);
      await page.getByRole('button', { name: 'Evaluate' }).click();
      await page.locator(answer === 'fault' ? '#result mark' : '#result pre').waitFor();
      await expectHarmless(page, faults, text);
    }
  }
});

test('what an address says is text', async () => {
  const { page, go, faults } = await openReader(browser, { refreshMs: 60_000 });
  for (const text of breakouts) {
    const encoded = encodeURIComponent(text);
    await go(`/leads?service=${encoded}&source=${encoded}&after=${encoded}`);
    await expectHarmless(page, faults, text);
    await go(`/leads?${encoded}=1`);
    expect(faults.splice(0)).toEqual([expect.stringContaining('400 (Bad Request)')]);
    expect(await missing(page, [text])).toEqual([]);
    await expectHarmless(page, faults, text);
  }
});

test('what an answer says is text, in the notice that tells it', async () => {
  const { page, go, operations, faults } = await openReader(browser, { refreshMs: 60_000 });
  for (const what of inFields(breakouts)) {
    operations.testResult = { arrived: false, duration_ms: 1, what };
    await go('/sinks');
    await page.locator('#sink-crm').getByRole('button', { name: 'Test…' }).click();
    await page.getByRole('button', { name: 'Send it' }).click();
    await page.locator('main .notice').getByText('did not accept the test event').waitFor();
    expect(await missing(page, [what])).toEqual([]);
    await expectHarmless(page, faults, what);
  }
});

/** Texts as they stand in fields, a few in each. */
function inFields(some: readonly string[]): string[] {
  return Array.from({ length: Math.ceil(some.length / IN_FIELD) }, (_, at) =>
    some.slice(at * IN_FIELD, (at + 1) * IN_FIELD).join(' '),
  );
}

/** No script ran or was stopped by the policy, nothing was loaded, and no element is there that we have not put there. */
async function expectHarmless(page: Page, faults: readonly string[], where: string): Promise<void> {
  const strange = await page.evaluate(() => {
    const known = ['htmx', 'theme', 'pages', 'chart', 'uplot'];
    const scripts = [...document.scripts].filter(
      ({ src }) => !known.some((name) => src.includes(`/assets/${name}-`)),
    );
    const others = document.querySelectorAll(
      'img, iframe, object, embed, svg, style, base, video, audio, marquee',
    );
    const handlers = [...document.querySelectorAll('*')].filter((element) =>
      element.getAttributeNames().some((name) => name.startsWith('on')),
    );
    const links = [...document.querySelectorAll('a')].filter(({ protocol }) => protocol !== 'http:');
    return [...scripts, ...others, ...handlers, ...links].map((element) => element.outerHTML.slice(0, 200));
  });
  const written = await page.evaluate(() => {
    const attributes = [...document.querySelectorAll('*')].flatMap((element) =>
      [...element.attributes].filter(({ name }) => name !== 'value'),
    );
    return [document.documentElement.textContent, ...attributes.map(({ value }) => value)].join('');
  });
  const unseen = everyUnseen.filter((character) => written.includes(character)).map(escapeOf);
  expect({ strange, faults, unseen }, where).toEqual({ strange: [], faults: [], unseen: [] });
}

/** Which of the texts a page does not show whole, as HTML can hold them. */
async function missing(page: Page, expected: readonly string[]): Promise<string[]> {
  const shown = await page.evaluate(() => document.querySelector('main')?.textContent ?? '');
  return expected.filter((text) => !bare(shown).includes(bare(asHtml(text))));
}

/** In sentences of leadsync's own, what is to be typed is set apart by more than backticks. */
function bare(text: string): string {
  return text.replaceAll('`', '');
}

/** HTML has whole characters alone, and leadsync escapes what a reader could not see. */
function asHtml(text: string): string {
  return [...text.toWellFormed().replaceAll('\r\n', '\n')].map(shownAs).join('').trim();
}

function shownAs(character: string): string {
  return isUnseen(character) ? escapeOf(character) : character;
}

function escapeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** A leadsync in which every text that a page shows is one of these. */
function hostileWorld(some: readonly string[]) {
  const world = aWorld();
  const of = (at: number) => some[at % some.length] ?? '';
  const leads = some.map((text, at) => ({
    ...sample(world.leads, 0),
    service_slug: text,
    lead_id: String(at + 1),
  }));
  const deliveries = some.map((text, at) => ({
    ...sample(world.deliveries, 10),
    lead_id: String(at + 1),
    delivery_id: `${text}:${at}`,
    sink: text,
    source: text,
    event: text,
    reason: text,
    state: 'dead' as const,
  }));
  const attempt = {
    started_at: world.now.toISOString(),
    duration_ms: 1,
    http_status: 400,
    times: 1,
    last_started_at: null,
  };
  const details: World['detailOf'] = (lead) => ({
    lead,
    versions: [
      { version: 1, valid_from: lead.first_seen_at, poll_id: 1, changed_fields: null },
      { version: 2, valid_from: lead.first_seen_at, poll_id: 1, changed_fields: [...some] },
    ],
    deliveries: deliveries.map((delivery, at) => ({
      ...delivery,
      attempt_rows: [{ ...attempt, outcome: of(at), error: of(at) }],
    })),
  });
  return {
    leadRows: leads.map((lead) => ({ ...lead, source: 'main' })),
    deliveryRows: deliveries,
    detailOf: details,
    problems: some.map((text) => ({
      code: 'sink_held',
      severity: 'warning' as const,
      about: text,
      message: text,
      next_step: text,
      page_step: text,
      runbook: 'docs/operating.md#sink-held',
      runbook_url: null,
    })),
    sources: some.map((text) => ({ ...sample(world.sources, 0), source: text, error: text })),
    speeds: some.map((text) => ({ ...sample(world.speeds, 0), sink: text })),
    sinkRows: some.map((text) => ({ ...sample(world.sinks, 2), sink: text, type: text, reason: text })),
    exports: some.map((text) => ({
      ...sample(world.exports, 1),
      export: text,
      target: text,
      last_error: text,
    })),
    pollRows: some.map((text, at) => ({ ...sample(world.polls, 0), poll_id: at, source: text, error: text })),
    config: {
      ...world.configuration,
      stale: { since: world.now.toISOString(), faults: [...some], failure: null },
      values: some.map((text) => ({ path: text, value: text, origin: text })),
    },
  };
}

function sample<Row>(rows: readonly Row[], at: number): Row {
  const row = rows[at];
  if (row === undefined) throw new Error('The world has too few rows.');
  return row;
}
