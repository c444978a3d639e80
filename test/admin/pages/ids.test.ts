import { expect, onTestFinished, test } from 'vitest';
import { theRejected } from './a-small-world.ts';
import { anAnswer } from './an-answer.ts';
import { everyPage, everyQuestion, everyState } from './every-page.ts';
import { openPages } from './open-pages.ts';

/** What the pages show once a reader asks for it. */
const revealed: typeof everyQuestion = [
  ['/leads/main/48205/data', {}],
  ['/leads/main/48205/answers', {}],
  ['/leads/main/48205/previews', {}],
  ['/sinks/crm/request', { lead: 'main:48205' }],
  ['/leads/find', { text: '4820' }],
  ['/playground', { source: 'main', lead: '48205', expression: 'lead.id' }],
];

test('no page has an id twice, and no link within a page leads nowhere', async () => {
  const { url, operations, close } = await openPages();
  onTestFinished(close);
  operations.rejectedRows = theRejected();
  operations.answers = [anAnswer('no such field'), anAnswer('no such field')];
  const requests: readonly (readonly [string, RequestInit])[] = [
    ...[...everyPage, ...everyState].map((path) => [path, {}] as const),
    ...[...everyQuestion, ...revealed].map(
      ([path, fields]) => [path, { method: 'POST', body: new URLSearchParams(fields) }] as const,
    ),
  ];
  for (const [path, init] of requests) {
    const html = await (await fetch(`${url}${path}`, init)).text();
    const ids = [...html.matchAll(/<[^>]*? id="([^"]*)"/g)].map(([, id]) => id);
    expect(ids.length, path).toBeGreaterThan(0);
    expect(
      ids.filter((id, at) => ids.indexOf(id) !== at),
      path,
    ).toEqual([]);
    const inPage = [...html.matchAll(/(?:href="#|<label for="|aria-[a-z]+by="|list=")([^"]+)"/g)];
    // The heading of the dialog arrives with its content.
    for (const [, target] of inPage) expect([...ids, 'ask-heading'], path).toContain(target);
  }
});
