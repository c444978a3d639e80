import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Outcome } from '../../../src/leads/outcome.ts';
import { mayHaveArrived } from '../../../src/leads/outcome.ts';
import { SinkUnavailable } from '../../../src/sinks/sink-unavailable.ts';
import { aBatch } from '../../support/scene/a-delivery.ts';
import { givingValues } from '../giving-values.ts';
import { CHANNEL, openSlack } from './open-slack.ts';
import { type SlackStub, type StubAnswer, startSlackStub, TOKEN } from './slack-stub.ts';

const NEVER = new AbortController().signal;

let stub: SlackStub;

beforeEach(async () => {
  stub = await startSlackStub();
});

afterEach(() => stub.close());

/** Returns the outcome of one lead, whose message gets this answer. */
async function outcomeOf(way: 'token' | 'url', answer: StubAnswer): Promise<Outcome> {
  stub.answerPosts(answer);
  const sink =
    way === 'token'
      ? givingValues(openSlack({ token: TOKEN, api_url: stub.apiUrl }), { channel: CHANNEL })
      : openSlack({ url: stub.webhookUrl });
  try {
    const [outcome] = await sink.deliver(aBatch(1), NEVER);
    if (!outcome) throw new Error('no outcome');
    return outcome;
  } catch (error) {
    if (!(error instanceof SinkUnavailable)) throw error;
    return error.toOutcome();
  } finally {
    await sink.close();
  }
}

/** Returns an outcome in a few words: its kind, and whether the lead may have arrived. */
function inShort(outcome: Outcome): string {
  const unsure = outcome.kind === 'unavailable' && mayHaveArrived(outcome) ? ', may have arrived' : '';
  return `${outcome.kind}${unsure}`;
}

const html = '<!doctype html><title>Proxy</title>';

describe('what an answer of the Web API means', () => {
  test.each<[string, StubAnswer, string, string?]>([
    ['a message', { body: { ok: true, channel: CHANNEL, ts: '1.2' } }, 'delivered'],
    ['ratelimited', { body: { ok: false, error: 'ratelimited' } }, 'unavailable', 'lower `rate`'],
    [
      '429',
      { status: 429, headers: { 'retry-after': '7' }, body: { ok: false, error: 'ratelimited' } },
      'unavailable',
    ],
    ['fatal_error', { body: { ok: false, error: 'fatal_error' } }, 'unavailable, may have arrived'],
    ['internal_error', { body: { ok: false, error: 'internal_error' } }, 'unavailable, may have arrived'],
    [
      'service_unavailable',
      { status: 503, body: { ok: false, error: 'service_unavailable' } },
      'unavailable, may have arrived',
    ],
    ['an unknown error', { body: { ok: false, error: 'something_new' } }, 'unavailable', 'Look up the error'],
    [
      'an error of a strange name',
      { body: { ok: false, error: 'constructor' } },
      'unavailable',
      'Look up the error',
    ],
    ['an error with markup', { body: { ok: false, error: '<b>x</b>' } }, 'unavailable', 'an unknown error'],
    ['invalid_auth', { body: { ok: false, error: 'invalid_auth' } }, 'unavailable', 'put it into `token`'],
    ['not_authed', { body: { ok: false, error: 'not_authed' } }, 'unavailable', 'put it into `token`'],
    [
      'account_inactive',
      { body: { ok: false, error: 'account_inactive' } },
      'unavailable',
      'put it into `token`',
    ],
    ['token_revoked', { body: { ok: false, error: 'token_revoked' } }, 'unavailable', 'put it into `token`'],
    ['missing_scope', { body: { ok: false, error: 'missing_scope' } }, 'unavailable', 'chat:write'],
    [
      'channel_not_found',
      { body: { ok: false, error: 'channel_not_found' } },
      'refused',
      'correct `channel`',
    ],
    ['not_in_channel', { body: { ok: false, error: 'not_in_channel' } }, 'refused', '/invite'],
    ['is_archived', { body: { ok: false, error: 'is_archived' } }, 'refused', 'archived'],
    ['restricted_action', { body: { ok: false, error: 'restricted_action' } }, 'refused', 'may not write'],
    ['msg_too_long', { body: { ok: false, error: 'msg_too_long' } }, 'refused'],
    ['invalid_blocks', { body: { ok: false, error: 'invalid_blocks' } }, 'refused'],
    ['no_text', { body: { ok: false, error: 'no_text' } }, 'refused'],
    [
      'ok without a message',
      { body: { ok: true } },
      'unavailable, may have arrived',
      "not in Slack's format",
    ],
    ['JSON without ok', { body: { channel: CHANNEL, ts: '1.2' } }, 'unavailable, may have arrived'],
    ['JSON that is no object', { body: 'true' }, 'unavailable, may have arrived'],
    ['JSON that broke off', { body: '{"ok":true,"channel":"C0' }, 'unavailable, may have arrived'],
    ['the page of a proxy with 200', { body: html }, 'unavailable, may have arrived', 'whether a proxy'],
    ['the page of a proxy with 403', { status: 403, body: html }, 'unavailable', 'whether a proxy'],
    ['an empty 204', { status: 204, body: '' }, 'unavailable, may have arrived'],
    ['a 502 without Slack', { status: 502, body: html }, 'unavailable, may have arrived'],
    ['no answer after the message was stored', 'cut', 'unavailable, may have arrived'],
  ])('%s', async (_, answer, expected, words = '') => {
    const outcome = await outcomeOf('token', answer);
    expect(inShort(outcome)).toBe(expected);
    expect('reason' in outcome ? outcome.reason : '').toContain(words);
    expect(JSON.stringify('reason' in outcome ? outcome.reason : '')).not.toMatch(/xoxb|<b>/);
  });

  test('a pause that Slack asks for is kept', async () => {
    const body = { ok: false, error: 'ratelimited' };
    const outcome = await outcomeOf('token', { status: 429, headers: { 'retry-after': '7' }, body });
    expect(outcome).toMatchObject({ retryAfterMs: 7_000, httpStatus: 429 });
  });
});

describe('what an answer of an incoming webhook means', () => {
  test.each<[string, StubAnswer, string, string?]>([
    ['ok', { body: 'ok' }, 'delivered'],
    ['invalid_payload', { status: 400, body: 'invalid_payload' }, 'refused'],
    ['no_text', { status: 400, body: 'no_text' }, 'refused'],
    ['channel_is_archived', { status: 410, body: 'channel_is_archived' }, 'unavailable', 'archived'],
    ['no_service', { status: 404, body: 'no_service' }, 'unavailable', 'another channel'],
    ['no_team', { status: 404, body: 'no_team' }, 'unavailable', 'another channel'],
    ['action_prohibited', { status: 403, body: 'action_prohibited' }, 'unavailable', 'administrator'],
    ['channel_not_found', { status: 404, body: 'channel_not_found' }, 'unavailable', 'removed'],
    ['rate_limited', { status: 429, body: 'rate_limited' }, 'unavailable', 'lower `rate`'],
    ['rollup_error', { status: 500, body: 'rollup_error' }, 'unavailable, may have arrived'],
    ['a page with 200', { body: html }, 'unavailable, may have arrived', "not in Slack's format"],
    ['JSON with 200', { body: { ok: true } }, 'unavailable, may have arrived'],
    ['another word with 200', { body: 'okay' }, 'unavailable, may have arrived'],
    ['a page with 400', { status: 400, body: html }, 'unavailable', "not in Slack's format"],
    ['no answer after the message was stored', 'cut', 'unavailable, may have arrived'],
  ])('%s', async (_, answer, expected, words = '') => {
    const outcome = await outcomeOf('url', answer);
    expect(inShort(outcome)).toBe(expected);
    expect('reason' in outcome ? outcome.reason : '').toContain(words);
    expect('reason' in outcome ? outcome.reason : '').not.toContain('secret');
  });

  test('410 says that the channel is gone for good', async () => {
    expect(await outcomeOf('url', { status: 410, body: 'channel_is_archived' })).toMatchObject({
      gone: true,
    });
  });
});
