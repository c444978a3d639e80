import { describe, expect, test } from 'vitest';
import { askForConfig } from '../../../src/cli/init/init-dialog.ts';
import { sinkTypes } from '../../../src/sinks/registry.ts';

/** What comes of these answers, and all that was shown meanwhile. */
async function answering(...answers: string[]) {
  let shown = '';
  const config = await askForConfig({
    ask: async (question) => {
      shown += question;
      const answer = answers.shift();
      if (answer === undefined) throw new Error(`no answer for: ${question}`);
      return answer;
    },
    say: (text) => {
      shown += text;
    },
  });
  expect(answers).toEqual([]);
  return { config, shown };
}

describe('the questions of init', () => {
  test('have default answers, which empty lines accept', async () => {
    const { config } = await answering('', '', '', '');
    expect(config).toEqual({
      serviceUrl: 'https://leads.example.com',
      every: '30s',
      sinks: { csv: './drop' },
    });
  });

  test('ask for the place of each chosen type of sink, and of no other', async () => {
    const { config } = await answering(
      'https://l.example',
      '1m',
      'postgres,webhook',
      'https://c.example/h',
      '',
    );
    expect(config).toEqual({
      serviceUrl: 'https://l.example',
      every: '1m',
      sinks: { webhook: 'https://c.example/h', postgres: '${DATABASE_URL}' },
    });
    expect((await answering('', '', 'none')).config.sinks).toEqual({});
  });

  test.each(sinkTypes)('can be answered for only $type', async ({ type, standardFields }) => {
    const { config } = await answering('', '', type, '', ...(standardFields ? [''] : []));
    expect(Object.keys(config.sinks)).toEqual([type]);
  });

  test.each([
    ['an invalid address', ['ftp://x', '', '', 'none'], 'It must be an http or https address'],
    ['an address with a password', ['https://u:p@l.example', '', '', 'none'], 'user name or password'],
    ['an invalid time', ['', '5', '', 'none'], 'It must be a duration'],
    [
      'a type that there is not',
      ['', '', 'webhok', 'none'],
      'There is no type "webhok": did you mean "webhook"?',
    ],
    ['a variable that is not closed', ['', '', 'csv', './${x', '.'], 'contains an invalid ${'],
    ['a token in an address', ['', '', 'webhook', 'https://c.example/?key=s', ''], 'It may contain a secret'],
    ['a password in an address', ['', '', 'postgres', 'postgres://u:pw@db/x', ''], 'It may contain a secret'],
    ['a key', ['', '', 'hubspot', 'pat-eu1-pw', '', ''], 'It is a secret, which does not belong in the file'],
  ])('are asked again after %s, with the reason', async (_, answers, words) => {
    const { config, shown } = await answering(...answers);
    expect(shown).toContain(words);
    expect(JSON.stringify(config)).not.toMatch(/pw|key=s|u:p/);
  });

  test('ask for the country of phone numbers once if a CRM is chosen', async () => {
    const { config, shown } = await answering('', '', 'hubspot,salesforce', '', '', 'au', 'AU');
    expect(config.region).toBe('AU');
    expect(shown).toContain('It must be a country code in capital letters');
    expect((await answering('', '', 'hubspot', '', '')).config.region).toBeUndefined();
  });

  test('accept a variable in place of any address', async () => {
    const { config } = await answering('${SERVICE}', '', 'webhook', '${CRM_URL}');
    expect(config).toMatchObject({ serviceUrl: '${SERVICE}', sinks: { webhook: '${CRM_URL}' } });
  });

  test('escape control characters', async () => {
    const { shown } = await answering('', '', 'a\u001b[2Jb', 'none');
    expect(shown).toContain('a\\u001b[2Jb');
  });
});
