import { describe, expect, test } from 'vitest';
import { webhook } from '../../../src/sinks/webhook/webhook-type.ts';

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const url = 'https://crm.example.com/hooks/t0ken';

describe('the options of a webhook', () => {
  test.each([
    ['only an address', { url }],
    ['an address without TLS', { url: 'http://127.0.0.1:8080/hook?key=1' }],
    ['two secrets', { url, secret, previous_secret: secret }],
    ['headers', { url, headers: { Authorization: 'Bearer abc', 'X-Team': 'sales' } }],
  ])('%s will do', (_, options) => {
    expect(webhook.options.safeParse(options).success).toBe(true);
  });

  test.each([
    ['no address', {}],
    ['another scheme', { url: 'ftp://crm.example.com/' }],
    ['a user in the address', { url: 'https://user:pass@crm.example.com/' }],
    ['a fragment', { url: `${url}#here` }],
    ['a secret without its prefix', { url, secret: secret.slice(6) }],
    ['a secret that is too short', { url, secret: `whsec_${Buffer.alloc(23).toString('base64')}` }],
    ['a secret that is too long', { url, secret: `whsec_${Buffer.alloc(65).toString('base64')}` }],
    ['a secret that is not base64', { url, secret: `${secret}!` }],
    ['a header of its own', { url, headers: { 'Webhook-Id': '1' } }],
    ['another content type', { url, headers: { 'content-type': 'text/plain' } }],
    ['a header with a line break', { url, headers: { 'x-team': 'a\r\nx: b' } }],
    ['a header without a name', { url, headers: { 'x team': 'a' } }],
    ['an unknown key', { url, secrets: secret }],
  ])('%s will not do', (_, options) => {
    expect(webhook.options.safeParse(options).success).toBe(false);
  });

  test('neither their printed values nor their errors contain a secret', () => {
    const right = webhook.options.parse({ url, secret, headers: { authorization: 'Bearer canary' } });
    expect(JSON.stringify(right)).not.toMatch(/whsec|t0ken|canary/);
    const wrong = webhook.options.safeParse({
      url: `${url}#x`,
      secret: 'canary',
      headers: { a: 'canary\n' },
    });
    expect(JSON.stringify(wrong.error?.issues)).not.toMatch(/t0ken|canary/);
  });
});
