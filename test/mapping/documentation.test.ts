import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { parseConfig } from '../../src/config/load-config.ts';
import { FUNCTIONS, TYPES } from '../../src/mapping/language.ts';
import { sampleDelivery } from '../../src/mapping/sample-lead.ts';
import { sinkTypes } from '../../src/sinks/registry.ts';

const page = readFileSync(new URL('../../docs/mapping.md', import.meta.url), 'utf8');

/** The blocks of a language on the page, with the heading above each. */
function blocks(language: string): { heading: string; text: string }[] {
  return [...page.matchAll(new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``, 'g'))].map(
    ({ index, 1: text = '' }) => ({
      heading: [...page.slice(0, index).matchAll(/^#+ (.*)$/gm)].at(-1)?.[1] ?? '',
      text,
    }),
  );
}

const lookups = blocks('yaml')
  .map(({ text }) => parse(text) as Record<string, unknown>)
  .find((block) => 'lookups' in block);

describe('docs/mapping.md', () => {
  const examples = blocks('yaml').filter(({ text }) => !text.startsWith('lookups:'));

  test('has twelve recipes', () => {
    expect(examples.length).toBeGreaterThanOrEqual(13);
  });

  test.each(examples.map(({ heading, text }) => [heading, text] as const))(
    '%s: valid, and its tests pass',
    (_, text) => {
      const options = parse(text) as Record<string, unknown>;
      expect(options['tests']).toBeDefined();
      const config = {
        ...lookups,
        sources: { main: { base_url: 'https://leads.example.com', client_id: 'id', client_secret: 's' } },
        sinks: { crm: { type: 'webhook', url: 'https://crm.example.com/', ...options } },
        store: { client_key: 'a key of sixteen characters' },
      };
      expect(parseConfig(stringify(config), 'f', { sinkTypes, env: {} }).sinks).toHaveLength(1);
      // As it stands on the page too, because YAML may read it differently from what was parsed and written again.
      const indented = text.replace(/^(?=.)/gm, '    ');
      const written = `${stringify({ ...config, sinks: undefined })}sinks:\n  crm:\n    type: webhook\n    url: https://crm.example.com/\n${indented}`;
      expect(parseConfig(written, 'f', { sinkTypes, env: {} }).sinks[0]?.mapping).toBeDefined();
    },
  );

  test('shows the sample lead as it is', () => {
    const [sample] = blocks('json');
    expect(JSON.parse(sample?.text ?? '')).toEqual(JSON.parse(sampleDelivery({}).raw));
  });

  test('names every function and every field of a lead', () => {
    for (const name of Object.keys(FUNCTIONS)) expect(page).toMatch(new RegExp(`\`${name}\\(`));
    for (const field of Object.keys(TYPES.Lead.fields))
      expect(page, field).toMatch(new RegExp(`\\.${field}\\b|\\b${field}\\b`));
    for (const field of Object.keys(TYPES.Delivery.fields)) expect(page).toContain(`.${field}`);
  });
});
