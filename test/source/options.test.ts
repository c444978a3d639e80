import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { sourceOptions } from '../../src/source/contract/options.ts';

const least = { base_url: 'https://leads.example.com', client_id: 'id', client_secret: 'canary' };

test("an address and a client suffice; the other options default to the service's API description", () => {
  const { client_secret, ...options } = sourceOptions.parse(least);
  expect(options).toEqual({
    base_url: 'https://leads.example.com',
    client_id: 'id',
    leads_path: '/api/v1/leads',
    token_path: '/oauth/token',
    authorize_path: '/oauth/authorize',
    pagination: 'none',
    page_parameter: 'page',
    timeout: 30_000,
    deadline: 600_000,
    max_lead_size: 8 * 1024 * 1024,
  });
  expect(client_secret.reveal()).toBe('canary');
  expect(inspect(sourceOptions.parse(least)) + JSON.stringify(sourceOptions.parse(least))).not.toContain(
    'canary',
  );
});

test.each([
  ['https://leads.example.com/', 'https://leads.example.com'],
  ['http://127.0.0.1:8080/service//', 'http://127.0.0.1:8080/service'],
])('base_url %s is read as %s', (base_url, read) => {
  expect(sourceOptions.parse({ ...least, base_url }).base_url).toBe(read);
});

test.each([
  ['base_url', 'leads.example.com', 'must be an http or https address'],
  ['base_url', 'ftp://leads.example.com', 'must be an http or https address'],
  ['base_url', 'https://leads.example.com/?a=b', 'must have no query'],
  ['base_url', 'https://leads.example.com/#top', 'must have no query'],
  ['base_url', 'https://me:secret@leads.example.com', 'must not contain a user name'],
  ['client_id', '', 'must not be empty'],
  ['client_secret', '', 'must'],
  ['scope', '', 'must not be empty'],
  ['leads_path', 'api/v1/leads', 'must begin with /'],
  ['leads_path', '/api/v1/leads#top', 'must begin with /'],
  ['token_path', '/oauth/token?a=b', 'must begin with /'],
  ['authorize_path', 'https://elsewhere.example/', 'must begin with /'],
  ['redirect_uri', 'urn:ietf:wg:oauth:2.0:oob', 'must be an http or https address'],
  ['redirect_uri', 'https://app.example.com/#here', 'must have no fragment'],
  [
    'redirect_uri',
    'http://127.0.0.1:0/callback',
    'must name the registered port; leave redirect_uri out for a free one',
  ],
  ['pagination', 'cursor', ''],
  ['timeout', '0s', 'must be more than 0'],
  ['deadline', '10 minutes', 'must be a duration'],
  ['max_lead_size', '10b', 'must be 1kb or more'],
])('%s: %j is refused', (option, value, message) => {
  const { error } = sourceOptions.safeParse({ ...least, [option]: value });
  expect(error?.issues[0]?.path).toEqual([option]);
  expect(error?.issues[0]?.message).toContain(message);
});

test('every option has a description, for the generated reference', () => {
  for (const [name, option] of Object.entries(sourceOptions.shape)) {
    expect(option.description, name).toMatch(/\.$/);
  }
});
