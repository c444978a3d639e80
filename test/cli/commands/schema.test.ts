import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Install } from '../an-install.ts';

test('leadsync schema prints the JSON Schema of the repository', async () => {
  const { stdout, code } = await new Install().run(['schema']);
  expect(code).toBe(0);
  const stored = readFileSync(new URL('../../../config/leadsync.schema.json', import.meta.url), 'utf8');
  expect(JSON.parse(stdout)).toEqual(JSON.parse(stored));
});
