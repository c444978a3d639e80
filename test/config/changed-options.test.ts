import { expect, test } from 'vitest';
import { changedOptions, describeChangedOption } from '../../src/config/changes/changed-options.ts';
import { read, SOURCE } from './reading.ts';

const LOFT = `${SOURCE}sinks:
  loft:
    type: pigeon
    loft: ./north
    password: \${PASSWORD}
`;

const before = read(LOFT, { PASSWORD: 'coo' });

function linesOf(text: string, password = 'coo') {
  return changedOptions(before, read(text, { PASSWORD: password })).map(describeChangedOption);
}

test('every option that changes has its old and new value, also one that takes its default again', () => {
  const text = `${LOFT}    concurrency: 7\nlog: { level: debug }\nalerts: { when: { no_poll: 30m } }\nstop: { grace: 9s }\n`;
  expect(linesOf(text)).toEqual([
    'alerts.when.no_poll: 15m -> 30m',
    'log.level: info -> debug',
    'stop.grace: 25s -> 9s',
    'sinks.loft.concurrency: 2 -> 7',
  ]);
  expect(changedOptions(read(text, { PASSWORD: 'coo' }), before)).toContainEqual({
    path: 'stop.grace',
    before: '9s',
    after: '25s',
    restart: false,
  });
});

test('a changed secret is named and not shown', () => {
  expect(linesOf(LOFT, 'coo2')).toEqual(['sinks.loft.password: changed']);
});

test('a changed secret is named beside other changes of the same section', () => {
  const heartbeat = (name: string, every: string) =>
    `${LOFT}alerts: { heartbeat: { url: 'https://hc-ping.com/canary-${name}', every: ${every} } }\n`;
  const [one, other] = [heartbeat('one', '1m'), heartbeat('two', '2m')].map((text) =>
    read(text, { PASSWORD: 'coo' }),
  );
  const lines = changedOptions(one as typeof before, other as typeof before).map(describeChangedOption);
  expect(lines).toEqual(['alerts.heartbeat.every: 1m -> 2m', 'alerts.heartbeat.url: changed']);
});

test('an option that needs a restart is marked', () => {
  expect(linesOf(`${LOFT}admin: { listen: '127.0.0.1:9470' }\n`)).toEqual([
    'admin.listen: 127.0.0.1:9464 -> 127.0.0.1:9470 (needs a restart)',
  ]);
});

test('the options of a new sink come from nothing, and those of a removed one go', () => {
  expect(linesOf(SOURCE)).toContain('sinks.loft.type: pigeon -> (not set)');
  const added = changedOptions(read(SOURCE, {}), before).map(describeChangedOption);
  expect(added).toContain('sinks.loft.type: (not set) -> pigeon');
  expect(added.join()).not.toContain('coo');
  expect(added).toHaveLength(3); // type, loft and password, and no default
});

test('the options of a renamed sink are compared with those that it had', () => {
  const renamed = LOFT.replace('  loft:\n', '  roof:\n    formerly: loft\n    concurrency: 7\n');
  expect(linesOf(renamed)).toEqual([
    'sinks.roof.formerly: (not set) -> loft',
    'sinks.roof.concurrency: 2 -> 7',
  ]);
});

test('nothing differs if only the order does', () => {
  expect(linesOf(`# new\nlog: { level: info }\n${LOFT}`)).toEqual([]);
});
