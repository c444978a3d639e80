import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hostileLead } from '../../hostile/hostile-lead.ts';
import { hostileStrings } from '../../hostile/own-strings.ts';
import { startBrowser } from '../../support/servers/browser.ts';
import { aWorld } from './a-world.ts';
import { anAnswer } from './an-answer.ts';
import type { World } from './fake-operations.ts';
import { breakouts, everyUnseen, expectHarmless, missing } from './harmless.ts';
import { openReader } from './reader.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

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

test('the text of an answer is shown as text, even in a notice', async () => {
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
