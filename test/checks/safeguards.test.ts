import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { safeguards } from './safeguards.ts';

const ROOT = join(import.meta.dirname, '../..');

test.each(safeguards)(
  '"$name" stands where it is taken away, and the tests that must notice are there',
  (one) => {
    expect(readFileSync(join(ROOT, one.file), 'utf8').split(one.text)).toHaveLength(2);
    expect(one.tests.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  },
);
