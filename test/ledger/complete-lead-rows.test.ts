import Database from 'better-sqlite3';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { relations } from '../../src/catalog/catalog.ts';
import type { Relation } from '../../src/catalog/relation.ts';
import type { ListedItem } from '../../src/leads/listed-lead.ts';
import type { Cell } from '../../src/ledger/contract/ledger-tables.ts';
import { completing } from '../../src/ledger/extraction/complete-lead-rows.ts';
import { LedgerExtract } from '../../src/ledger/extraction/extracting.ts';
import { leadRows } from '../../src/ledger/schema/views.ts';
import { oddLeads } from '../catalog/odd-leads.ts';
import { aLead, aListedLead, listedAs } from '../support/scene/a-lead.ts';
import { HOUR, LedgerUnderTest } from './ledger-under-test.ts';
import { SqliteFile } from './sqlite-store.ts';

const alike = relations.filter(({ name }) => ['leads', 'v_leads'].includes(name));

/** Returns the result of the extraction and that of the view. */
async function bothOf(file: string, relation: Relation): Promise<{ extracted: unknown; view: unknown }> {
  const columns = relation.columns.map(({ name }) => name);
  const extract = new LedgerExtract(file);
  const db = new Database(file, { readonly: true });
  try {
    const view = db.prepare<[], Cell[]>(`SELECT ${columns} FROM ${relation.name} ORDER BY source, id`);
    const named = (row: readonly Cell[]) => Object.fromEntries(row.map((cell, at) => [columns[at], cell]));
    return {
      extracted: (await Array.fromAsync(extract.parts(relation, undefined))).flat().map(named),
      view: view.safeIntegers().raw().all().map(named),
    };
  } finally {
    await extract.close();
    db.close();
  }
}

async function expectAlike(items: readonly ListedItem[]): Promise<void> {
  const disk = new SqliteFile();
  const on = await LedgerUnderTest.with(disk.open);
  await on.list(items);
  for (const relation of alike) {
    const { extracted, view } = await bothOf(disk.file, relation);
    expect(extracted).toEqual(view);
    expect(view).toHaveLength(items.length);
  }
}

/** Builds a lead whose `answers` is exactly this text. */
function answering(id: number, answers: string): ListedItem {
  return listedAs(BigInt(id), aLead({ id }).replace(/("service_question_answers":)\[.*?\]/, `$1${answers}`));
}

/** JSON texts as services write them, including some that JSON.parse and SQLite read differently. */
const character = fc.constantFrom(
  ...[
    'a',
    'b',
    '2',
    ' ',
    "'",
    '/',
    '\\/',
    '\\"',
    '\\\\',
    '\\n',
    '\\b',
    '\\u0001',
    '\\u001F',
    '\\u007f',
    '\u007f',
  ],
  ...['ä', '\\u00e4', '\u2028', '\uffee', '\ufb01', '😀', '\\ud83d\\ude00', '\\ud800', '\\udfff', '\\u0000'],
);
const text = fc.array(character, { maxLength: 4 }).map((parts) => `"${parts.join('')}"`);
const number = fc.constantFrom(
  '0',
  '-0',
  '1.0',
  '1e3',
  '1E+2',
  '9007199254740993',
  '12345678901234567890',
  '0.1',
);
const space = fc.constantFrom('', '', '', ' ', '\n\t');
const value = fc.oneof(text, number, fc.constantFrom('null', 'true', '[]', '{}', '[1.0,{"slug":"x"}]'));
const object = (members: fc.Arbitrary<readonly (readonly [string, string])[]>) =>
  fc
    .tuple(members, space)
    .map(([all, gap]) => `{${all.map(([key, one]) => `${gap}"${key}"${gap}:${one}`).join(',')}${gap}}`);
const member = (keys: readonly string[], of: fc.Arbitrary<string>) => fc.tuple(fc.constantFrom(...keys), of);
const shuffled = <T>(all: readonly T[]) => fc.shuffledSubarray([...all], { minLength: all.length });

const slug = fc.oneof(
  fc.constantFrom('"a"', '"b"', '"2"', '"10"', '""', '"😀"', '"\uffee"', '"B"', '"__proto__"'),
  text,
);
const answer = object(
  fc
    .tuple(
      fc.tuple(fc.constant('question'), text),
      fc.tuple(fc.constant('slug'), slug),
      fc.tuple(fc.constant('answer'), text),
      fc.array(member(['extra', 'slug', 'answer', 'sl\\u0075g'], fc.oneof(text, value)), { size: 'xsmall' }),
    )
    .chain(([question, its, said, more]) => shuffled([question, its, said, ...more])),
);
const plainAnswer = fc
  .tuple(text, slug, text)
  .map(([question, its, said]) => `{"question":${question},"slug":${its},"answer":${said}}`);
const answers = fc.oneof(
  ...[plainAnswer, answer].map((one) =>
    fc.tuple(fc.array(one, { maxLength: 5 }), space).map(([all, gap]) => `[${gap}${all.join(`,${gap}`)}]`),
  ),
);
const created = fc.constantFrom(
  '2026-11-20T09:59:30.123Z',
  '2026-11-20 09:59:60,5-0330',
  '1969-12-31T23:30:00.999999Z',
  '0000-01-01T00:00:00+14:00',
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999Z',
  '9999-12-31T23:59:59-10:00',
  'yesterday',
);
const lead = fc
  .tuple(
    fc.nat(1e12),
    created,
    answers,
    text,
    fc.array(member(['extra', 'client_name'], value), { maxLength: 2 }),
  )
  .map(([id, created_at, given, name, more]) => {
    const { raw } = answering(id, given) as { raw: string };
    const fields = [['created_at', JSON.stringify(created_at)], ['client_name', name], ...more] as const;
    const written = fields.map(([key, one]) => `"${key}":${one}`).join(',');
    return listedAs(
      BigInt(id),
      raw.replace(/^\{"id":\d+/, (start) => `${start},${written}`),
    );
  });

describe('an extraction of leads returns the same as the view', () => {
  it('it does for unusual leads', async () => {
    const answered = [
      '[]',
      ' [ ] ',
      'null',
      '"[]"',
      '"[{\\"slug\\":\\"a\\",\\"answer\\":\\"1\\"}]"',
      '{}',
      '1',
      '[null]',
      '[1.0]',
      '[{"slug":"a","answer":1}]',
      '[{"slug":1.0,"answer":"a"}]',
      '[{"slug":"a","answer":"1","slug":"b"}]',
      '[{"slug":"a","answer":"\\u0022\\u0022\\u0022\\u0022","slug":"b"}]',
      '[{"slug":"a","answer":"1","n":1.0},{"slug":"b","answer":"2","n":9007199254740993}]',
      '[{"slug":"a","answer":"\\u00e4\\/"}]',
      '[{"slug":"\uffee","answer":"1"},{"slug":"😀","answer":"2"},{"slug":"10","answer":"3"},{"slug":"2","answer":"4"}]',
      '[{"slug":"b","answer":"2"},{"slug":"a","answer":"1"},{"slug":"b","answer":"1"},{"slug":"b","answer":"2"}]',
      `[{"slug":"a","answer":"1","deep":${'['.repeat(900)}${']'.repeat(900)}}]`,
      `[{"slug":"a","answer":"1","deep":${'['.repeat(1_000)}${']'.repeat(1_000)}}]`,
      `[{"slug":"a","answer":"${'x'.repeat(70_000)}"}]`,
    ];
    await expectAlike([
      ...oddLeads().filter(({ kind }) => kind === 'lead'),
      ...answered.map((one, at) => answering(100 + at, one)),
      aListedLead({ id: 200, service_question_answers: undefined }),
      aListedLead({ id: 201, created_at: '0000-01-01T00:00:00+14:00' }),
      aListedLead({ id: 202, created_at: '9999-12-31T23:59:59-10:00' }),
      aListedLead({ id: 203, created_at: 'yesterday' }),
    ]);
  });

  it('it does for generated leads', async () => {
    const leads = fc.uniqueArray(lead, { selector: ({ id }) => id, minLength: 70, maxLength: 70 });
    await fc.assert(fc.asyncProperty(leads, expectAlike), { numRuns: 5 });
  });

  it('it does for leads with several versions, missing from the listing, listed by another source, and erased', async () => {
    const disk = new SqliteFile();
    const on = await LedgerUnderTest.with(disk.open);
    await on.list([1, 2, 3, 4]);
    on.clock.jump(HOUR);
    await on.list([1, aListedLead({ id: 2, client_name: 'Anders' }), 4]);
    on.clock.jump(HOUR);
    await on.list([1, 2], 'other');
    await on.ledger.erase(await on.ledger.findPerson({ kind: 'lead', lead: 4n }), []);
    for (const relation of alike) {
      const { extracted, view } = await bothOf(disk.file, relation);
      expect(extracted).toEqual(view);
      expect(view).toHaveLength(5);
    }
  });
});

it('SQLite does not write the times and answers of a lead as services write them', async () => {
  const disk = new SqliteFile();
  const on = await LedgerUnderTest.with(disk.open);
  const escaped = answering(2, '[ {"slug": "a", "answer": "M\\u00fcller\\/\\u0022"} ]');
  await on.list([1, escaped, aListedLead({ id: 3, service_question_answers: [] })]);
  const db = new Database(disk.file, { readonly: true });
  const rows = db.prepare<[], Cell[]>(leadRows).safeIntegers().raw().all();
  db.close();
  expect(rows.map(completing((alike[0] as Relation).columns))).toEqual([true, true, true]);
});
