import { posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readFiles } from './support/import-scan.ts';

/** An export at the beginning of a line, with its docstring where one ends right above it. `export … from` has neither. */
const EXPORT = /^(\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?(export (?!\*|(?:type )?\{).*)$/gm;
/** The type that a schema of the same name makes: what it promises is said above the schema. */
const TYPE_OF_SCHEMA = /^export type (\w+) = z\.(?:infer|input|output)<typeof \1>;$/;

/** Returns a sentence for each export without a docstring. */
function undocumentedIn(path: string, text: string): string[] {
  return [...text.matchAll(EXPORT)].flatMap(({ 1: docstring, 2: line = '', index }) => {
    if (docstring !== undefined || isTypeOfSchema(line, text)) return [];
    const place = `${path}:${text.slice(0, index).split('\n').length}`;
    return [
      `${place} has no docstring: "${line}". Say what it promises: units, errors, who gives it, its source.`,
    ];
  });
}

function isTypeOfSchema(line: string, text: string): boolean {
  const name = TYPE_OF_SCHEMA.exec(line)?.[1];
  return name !== undefined && text.includes(`\nexport const ${name} = `);
}

const root = posix.join(import.meta.dirname.replaceAll('\\', '/'), '..');

test('every export in src/ has a docstring', () => {
  const missing = [...readFiles(root, 'src')].flatMap(([path, text]) => undocumentedIn(path, text));
  expect(missing.join('\n')).toBe('');
});

describe('the check itself', () => {
  test.each([
    ['export const a = 1;', 1],
    ['/** Of the file. */\n\nexport interface A {', 3],
    ['/* No docstring. */\nexport async function a() {', 2],
    ['/** Of b. */\nconst b = 1;\nexport type A = typeof b;', 3],
    ['const A = z.object({});\nexport type A = z.infer<typeof A>;', 2],
    ['/** Of a. */\nexport const a = 1;\nexport default class B {', 3],
  ])('reports %j', (text, line) => {
    expect(undocumentedIn('src/a.ts', text)).toEqual([expect.stringContaining(`src/a.ts:${line} `)]);
  });

  test.each([
    '/** One line. */\nexport const a = 1;',
    '/**\n * Two lines, the second\n * by A. Reader\n */\nexport abstract class A {',
    "export { a } from './a.ts';\nexport type { B } from './b.ts';\nexport * from './c.ts';",
    '/** A. */\n\n/** B. */\nexport const A = z.object({});\nexport type A = z.infer<typeof A>;',
  ])('accepts %j', (text) => {
    expect(undocumentedIn('src/a.ts', text)).toEqual([]);
  });
});
