import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runbookSections } from '../../../scripts/generate/runbook.ts';
import { PROBLEM_CODES, runbookUrlOf } from '../../../src/leads/problems.ts';
import { type OpenPages, openPages } from './open-pages.ts';

let pages: OpenPages;
beforeEach(async () => {
  pages = await openPages({ role: 'viewer' });
});
afterEach(() => pages.close());

const open = async (path: string) => (await fetch(`${pages.url}${path}`)).text();

test.each(PROBLEM_CODES)('the link of %s opens its section of the runbook', async (code) => {
  const answer = await fetch(String(runbookUrlOf(code, pages.url)));
  expect(answer.status).toBe(200);
  expect(await answer.text()).toContain('<article class="manual">');
});

test('a section has its text, the sections below it, and nothing of the next one', async () => {
  const page = await open('/runbook/ledger-fails');
  expect(page).toContain('<h1>Ledger fails</h1>');
  expect(page).toContain('<h2>The ledger is damaged</h2>');
  expect(page).not.toContain('Disk low</h');
});

test('every link of the runbook opens a page', async () => {
  const contents = await open('/runbook');
  const links = [...contents.matchAll(/href="(\/runbook\/[^"]+)"/g)].map(([, path = '']) => path);
  const manual = readFileSync(join(import.meta.dirname, '../../../docs/operating.md'), 'utf8');
  expect(links.length).toBeGreaterThan(25);
  const inside = runbookSections(manual).flatMap(({ html }) =>
    [...html.matchAll(/href="([^"]*)"/g)].map(([, path = '']) => path),
  );
  const answers = [...new Set([...links, ...inside])].map(
    async (path) => (await fetch(`${pages.url}${path}`)).status,
  );
  expect(new Set(await Promise.all(answers))).toEqual(new Set([200]));
});

test('an unknown section is not found, and the page leads to the others', async () => {
  const answer = await fetch(`${pages.url}/runbook/lost`);
  expect(answer.status).toBe(404);
  expect(await answer.text()).toContain('The runbook has no section of this name.');
});

test('each problem of the overview links to its section', async () => {
  const overview = await open('/');
  expect(overview).toContain('href="/runbook/sink-held" aria-label="See runbook: sink held"');
  expect(overview).toContain('href="/runbook/deliveries-dead" aria-label="See runbook: deliveries dead"');
});

test('HTML in the manual stays text, and a link to what the pages do not have becomes text', () => {
  const manual = [
    '# A <script>',
    'a <b onclick="x">b</b> [there](#a-script) [no](#nowhere) [x](javascript:alert) [docs](backup.md#restore)',
    '',
    '<img src=x>',
    '',
    '![y](https://example.com/y.png)',
    '',
    '| <i> | b |\n| --- | --- |\n| <u> | [web](https://example.com) |',
  ].join('\n');
  const [{ title, html } = { title: '', html: '' }] = runbookSections(manual);
  expect(title).toBe('A <script>');
  expect([...html.matchAll(/<(\w+)/g)].map(([, name]) => name)).toEqual(
    'p a code code code p table thead tr th th tbody tr td div td div code'.split(' '),
  );
  expect(html).toContain('<a href="/runbook/a-script">there</a>');
  expect(html).toContain('docs (<code>docs/backup.md</code>)');
  expect(html).toContain('web (<code>https://example.com/</code>)');
});
