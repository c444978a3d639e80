import { expect, test } from 'vitest';
import { AlertTracker, type Evaluation } from '../../src/alerts/alert-tracker.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { rewriteCommands } from '../../src/platform/process/typed-command.ts';
import { sinkTypes } from '../../src/sinks/registry.ts';
import { alertsJson } from '../../src/status/alert-json.ts';
import { Install } from '../cli/an-install.ts';

const START = Date.parse('2026-11-20T10:00:00.000Z');
const MINUTE = 60_000;
const at = (minutes: number) => new Date(START + minutes * MINUTE);
const iso = (minutes: number) => at(minutes).toISOString();

/** The options of alerts with two destinations, or with none. */
function options(to: Readonly<Record<string, unknown>>) {
  return loadConfig(new Install({ alerts: { to } }).configFile, { sinkTypes, env: {} }).alerts;
}

const two = () =>
  options({
    ops: { type: 'webhook', url: 'https://ops.example.com', secret: `whsec_${btoa('x'.repeat(24))}` },
    chat: { type: 'slack', url: 'https://hooks.slack.com/services/T/B/x' },
  });

/** As in an installation whose users start leadsync with a script. */
const asTyped = (text: string) => rewriteCommands(text, { LEADSYNC_COMMAND: './leads' });

const held: Evaluation['state'] = {
  since: at(0),
  afterMs: 30 * MINUTE,
  what: 'crm is held.',
  next: 'Wait.',
};

function found(state: Evaluation['state']): readonly Evaluation[] {
  return [{ condition: 'sink_held', about: 'crm', state, over: 'crm works.' }];
}

test('an alert shows when it began, who was notified, and the next notice, from its beginning to its end', () => {
  const tracker = new AlertTracker([]);
  const to = two();
  const now = (waiting: Parameters<typeof alertsJson>[0]['waiting'] = {}) =>
    alertsJson({ entries: tracker.entries, waiting }, to, asTyped).alerts;
  tracker.take(found(held), at(1));
  expect(now()).toMatchObject([
    { condition: 'sink_held', severity: 'critical', about: 'crm', state: 'new', since: iso(0) },
  ]);
  expect(now()).toMatchObject([{ reported_at: null, next_notice: 'first', next_notice_at: null }]);
  const notices = tracker.take(found(held), at(30));
  expect(now({ chat: notices })).toMatchObject([
    { state: 'active', reported_at: iso(30), next_notice: 'reminder', next_notice_at: iso(30 + 24 * 60) },
  ]);
  expect(now({ chat: notices })[0]?.unsent_to).toEqual(['chat']);
  tracker.take(found('well'), at(40));
  expect(now()).toMatchObject([{ state: 'ending', next_notice: 'over', next_notice_at: iso(45) }]);
  tracker.take(found('well'), at(45));
  expect(now()).toMatchObject([{ state: 'over', over_at: iso(45), next_notice: null, unsent_to: [] }]);
});

test('a destination says how many notices wait for it, and since when', () => {
  const tracker = new AlertTracker([]);
  const notices = tracker.take(found(held), at(30));
  expect(
    alertsJson({ entries: tracker.entries, waiting: { chat: notices } }, two(), asTyped).destinations,
  ).toEqual([
    { name: 'ops', type: 'webhook', unsent: 0, unsent_since: null },
    { name: 'chat', type: 'slack', unsent: 1, unsent_since: iso(30) },
  ]);
});

test('without a destination, an alert of an earlier configuration is not listed', () => {
  const tracker = new AlertTracker([]);
  tracker.take(found(held), at(30));
  const none = options({});
  expect(alertsJson({ entries: tracker.entries, waiting: {} }, none, asTyped)).toEqual({
    destinations: [],
    alerts: [],
  });
});

test('the message of an alert names commands as users type them', () => {
  const tracker = new AlertTracker([]);
  tracker.take(found({ ...held, what: 'Run `leadsync check`.' }), at(1));
  const { alerts } = alertsJson({ entries: tracker.entries, waiting: {} }, two(), asTyped);
  expect(alerts).toMatchObject([{ message: 'Run `./leads check`.' }]);
});
