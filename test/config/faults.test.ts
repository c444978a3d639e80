import { describe, expect, test } from 'vitest';
import { faultsOf, SOURCE } from './reading.ts';

/** A sink of lines that are added at line 8, column 5. */
const sink = (...lines: string[]) =>
  `${SOURCE}sinks:\n  p:\n${['type: pigeon', 'loft: ./loft', ...lines].map((line) => `    ${line}\n`).join('')}`;

const RATE = 'must be a rate such as 5/s, 100/m or 1000/h, from 1 to 10000';
const DURATION = 'must be a duration such as 500ms, 30s, 5m, 2h or 1d';

describe('a fault is reported at its line and column, with the next step', () => {
  test.each<[string, string, ...string[]]>([
    // the file as a whole
    ['an empty file', '', ' the configuration is empty; `leadsync init` creates one'],
    ['only comments', '# nothing\n', ' the configuration is empty; `leadsync init` creates one'],
    ['a list', '- a\n', '1:1: must be a map of keys and values'],
    ['a text', 'leads\n', '1:1: must be a map of keys and values'],
    ['no sources', 'data_dir: ./x\n', '1:1: "sources" is missing; add it'],
    ['empty sources', 'sources: {}\n', '1:10: sources: must have at least one source'],
    ['sources without a value', 'sources:\n', '1:9: sources: has no value; write one, or remove the key'],
    // YAML
    ['a tab', 'sources:\n\tmain: 1\n', '2:1: this line is indented with a tab; YAML allows only spaces'],
    [
      'a quote that is not closed',
      `${SOURCE}data_dir: "./x\n`,
      '6:15: a closing quote or bracket, a comma, or the colon after a key is missing here; put the value in quotes',
    ],
    [
      'a variable in braces without quotes',
      `${SOURCE}log: { level: \${LEVEL} }\n`,
      '6:16: this is unexpected here; check the indentation and the brackets; put a value with ${…} in quotes if it has one of { } [ ] , # :',
    ],
    [
      'a wrong indentation',
      'sources:\n  main:\n    base_url: x\n   client_id: y\n',
      '4:4: the indentation does not match the lines above; entries of one map or list begin in the same column; close every { and [',
    ],
    [
      'a colon in a value',
      `${SOURCE}data_dir: a: b\n`,
      '6:11: this is not a single "key: value"; check the indentation and the space after each colon; put the value in quotes if it has a colon',
    ],
    [
      'an unknown escape',
      `${SOURCE}data_dir: "C:\\data"\n`,
      `6:14: invalid escape sequence in "…"; write \\\\ for a backslash, or use '…'`,
    ],
    [
      'a reserved character',
      `${SOURCE}data_dir: @home\n`,
      '6:11: this character cannot begin a value; put the value in quotes',
    ],
    [
      'a second document',
      `${SOURCE}---\na: 1\n`,
      '6:1: a second document begins here; a configuration is one document: remove the ---',
    ],
    [
      'a repeated key',
      `${SOURCE}data_dir: a\ndata_dir: b\n`,
      '7:1: the key "data_dir" is already on line 6; remove one of the two',
    ],
    [
      'a tag',
      `${SOURCE}data_dir: !env HOME\n`,
      '6:16: data_dir: has a YAML tag (!…) that leadsync does not know; remove the tag',
    ],
    [
      'no space after the colon of a key',
      `${SOURCE}sinks:\n  p:\n    type:pigeon\n`,
      '8:5: sinks.p: must be a map of keys and values: put a space after the colon of each key',
    ],
    ['a number as key', `${SOURCE}1: 2\n`, '6:1: this key is not text; put it in quotes'],
    ['a list as key', `${SOURCE}[a, b]: 2\n`, '6:1: this key is not text; put it in quotes'],
    [
      'a merge key',
      `${SOURCE}<<: { data_dir: x }\n`,
      '6:1: merge keys (<<) are not supported; write the entries out, or use an alias for a whole value',
    ],
    [
      'an unknown alias',
      `${SOURCE}data_dir: *dir\n`,
      '6:11: data_dir: there is no anchor &dir above; write &dir before the value that it names',
    ],
    [
      'an alias inside itself',
      `${SOURCE}log: &log { level: *log }\n`,
      '6:20: log.level: this alias contains itself; write the value out',
    ],
    [
      'an anchor of the same name as another',
      `${SOURCE}data_dir: &a x\nlog: { level: &a info }\n`,
      '7:18: log.level: the anchor &a is already used above; use another name',
    ],
    // keys
    ['an unknown key', `${SOURCE}dat_dir: x\n`, '6:1: unknown key "dat_dir"; did you mean "data_dir"?'],
    [
      'a key like no other',
      `${SOURCE}stop: { weather: 1 }\n`,
      '6:9: stop: unknown key "weather"; known here: grace',
    ],
    [
      'an unknown key of a source',
      `${SOURCE}    client_sceret: x\n`,
      '6:5: sources.main: unknown key "client_sceret"; did you mean "client_secret"?',
    ],
    [
      'an unknown key of a sink',
      sink('alttude: 3'),
      '10:5: sinks.p: unknown key "alttude"; did you mean "altitude"?',
    ],
    [
      'a common key of a sink, misspelt',
      sink('timeuot: 3s'),
      '10:5: sinks.p: unknown key "timeuot"; did you mean "timeout"?',
    ],
    [
      '__proto__',
      `${SOURCE}__proto__: { data_dir: x }\n`,
      '6:1: unknown key "__proto__"; known here: name, data_dir, ledger, sources, sinks, queue, admin, alerts, exports, backups, watch, log, tokens, store, retention, lookups, stop',
    ],
    [
      'a missing key',
      'sources:\n  main:\n    base_url: https://x.example\n    client_id: x\n',
      '2:3: sources.main: "client_secret" is missing; add it',
    ],
    [
      'a key without a value',
      sink('altitude:'),
      '10:14: sinks.p.altitude: has no value; write one, or remove the key',
    ],
    // names
    [
      'a source name in capitals',
      SOURCE.replace('main', 'Main'),
      '2:3: sources: "Main" cannot be a name; a name consists of a-z, 0-9, _ and -, begins with a letter or digit, and has at most 63 characters',
    ],
    [
      'an empty sink name',
      `${SOURCE}sinks:\n  "": { type: pigeon, loft: x }\n`,
      '7:3: sinks: "" cannot be a name; a name consists of a-z, 0-9, _ and -, begins with a letter or digit, and has at most 63 characters',
    ],
    // values
    [
      'a number for a text',
      SOURCE.replace('client_id: id', 'client_id: 123'),
      '4:16: sources.main.client_id: must be text: put it in quotes',
    ],
    [
      'a number for a secret',
      SOURCE.replace('s3cr3t', '12345'),
      '5:20: sources.main.client_secret: must be text, or { file: /run/secrets/x }',
    ],
    ['a text for a number', sink('altitude: high'), '10:15: sinks.p.altitude: must be a number'],
    ['a part of a number', sink('concurrency: 1.5'), '10:18: sinks.p.concurrency: must be a whole number'],
    ['a number too small', sink('concurrency: 0'), '10:18: sinks.p.concurrency: must be 1 or more'],
    ['a number too large', sink('retry: { jitter: 20 }'), '10:22: sinks.p.retry.jitter: must be 1 or less'],
    ['yes for true', sink('enabled: yes'), '10:14: sinks.p.enabled: must be true or false'],
    [
      'neither of two forms',
      sink('weight: [1]'),
      '10:13: sinks.p.weight: must be a number, or must be "any"',
    ],
    ['a duration without its unit', sink('timeout: 5'), `10:14: sinks.p.timeout: ${DURATION}`],
    ['a rate without a period', sink('rate: 5'), `10:11: sinks.p.rate: ${RATE}`],
    ['a rate of none', sink('rate: 0/s'), `10:11: sinks.p.rate: ${RATE}`],
    ['too high a rate', sink('rate: 10001/m'), `10:11: sinks.p.rate: ${RATE}`],
    [
      'a public address with a path',
      `${SOURCE}admin: { public_url: "https://x.example.com/leads" }\n`,
      '6:22: admin.public_url: must be an address such as https://leadsync.example.com, without a path',
    ],
    ['a duration out of range', sink('timeout: 2h'), '10:14: sinks.p.timeout: must be between 100ms and 1h'],
    [
      'a duration in a list',
      sink('retry:', '  schedule:', '    - 5s', '    - soon'),
      `13:11: sinks.p.retry.schedule[1]: ${DURATION}`,
    ],
    [
      'a misspelt choice',
      `${SOURCE}log: { level: warning }\n`,
      '6:15: log.level: must be one of trace, debug, info, warn, error',
    ],
    [
      'a nearly right choice',
      `${SOURCE}log: { level: inof }\n`,
      '6:15: log.level: must be one of trace, debug, info, warn, error; did you mean "info"?',
    ],
    [
      'the same event twice',
      sink('events: [created, created]'),
      '10:13: sinks.p.events: names the same event twice',
    ],
    ['no event', sink('events: []'), '10:13: sinks.p.events: must not be empty'],
    ['a wrong key of a map', sink('rings: { A1: x }'), '10:14: sinks.p.rings: must be letters'],
    [
      'a sink that is no map',
      `${SOURCE}sinks: { p: 1 }\n`,
      '6:13: sinks.p: must be a map of keys and values',
    ],
    [
      'a sink without a type',
      `${SOURCE}sinks:\n  p: { loft: x }\n`,
      '7:3: sinks.p: "type" is missing; add one of pigeon',
    ],
    [
      'an unknown type',
      `${SOURCE}sinks:\n  p: { type: pigoen }\n`,
      '7:14: sinks.p.type: must be one of pigeon; did you mean "pigeon"?',
    ],
    // poll
    [
      'polling too often',
      `${SOURCE}    poll: { every: 10ms }\n`,
      '6:20: sources.main.poll.every: must be between 1s and 7d',
    ],
    [
      'an interval and cron',
      `${SOURCE}    poll: { every: 5s, cron: "* * * * *" }\n`,
      '6:30: sources.main.poll.cron: cannot be combined with `every`: keep one of the two',
    ],
    [
      'no cron expression',
      `${SOURCE}    poll: { cron: daily }\n`,
      '6:19: sources.main.poll.cron: must be a cron expression such as "*/5 8-18 * * 1-5"',
    ],
    [
      'a time zone without cron',
      `${SOURCE}    poll: { timezone: Europe/Berlin }\n`,
      '6:23: sources.main.poll.timezone: has no effect without `cron`: remove it',
    ],
    [
      'no time zone',
      `${SOURCE}    poll: { cron: "* * * * *", timezone: Europe/Berln }\n`,
      '6:42: sources.main.poll.timezone: must be a time zone such as Europe/Berlin; did you mean "Europe/Berlin"?',
    ],
    // addresses
    [
      'an address without a port',
      `${SOURCE}admin: { listen: localhost }\n`,
      '6:18: admin.listen: must be host:port such as 127.0.0.1:9464 or [::1]:9464, or off',
    ],
    [
      'an address that is only a port',
      `${SOURCE}admin: { listen: 9464 }\n`,
      '6:18: admin.listen: must be host:port such as 127.0.0.1:9464 or [::1]:9464, or off',
    ],
    [
      'a port too high',
      `${SOURCE}admin: { listen: "127.0.0.1:70000" }\n`,
      '6:18: admin.listen: must be host:port such as 127.0.0.1:9464 or [::1]:9464, or off',
    ],
    [
      'an address that other machines reach, without a token',
      `${SOURCE}admin: { listen: "0.0.0.0:9464" }\n`,
      '6:18: admin.listen: other machines can reach 0.0.0.0, and no admin.token is set; add `token: ${LEADSYNC_ADMIN_TOKEN}` beside it (`openssl rand -hex 32` generates one), or listen on 127.0.0.1',
    ],
    [
      'a public name before an address of this machine, without a token',
      `${SOURCE}admin: { hosts: [leads.example.com] }\n`,
      '6:17: admin.hosts: other machines can reach leads.example.com, and no admin.token is set; add `token: ${LEADSYNC_ADMIN_TOKEN}` beside it (`openssl rand -hex 32` generates one), or remove this',
    ],
    [
      'an invalid block of proxies',
      `${SOURCE}admin: { token: a-token-of-some-length, trusted_proxies: [10.0.0.0/8, 10.0.0.0/33] }\n`,
      '6:71: admin.trusted_proxies[1]: must be an IP address or a CIDR block such as 10.0.0.0/8',
    ],
    [
      'trusted proxies that include every address',
      `${SOURCE}admin: { token: a-token-of-some-length, trusted_proxies: [0.0.0.0/0] }\n`,
      '6:59: admin.trusted_proxies[0]: must be an IP address or a CIDR block such as 10.0.0.0/8',
    ],
    [
      'a trusted proxy, through which other machines connect, without a token',
      `${SOURCE}admin: { trusted_proxies: [10.0.0.1] }\n`,
      '6:27: admin.trusted_proxies: other machines can reach it through 10.0.0.1, and no admin.token is set; add `token: ${LEADSYNC_ADMIN_TOKEN}` beside it (`openssl rand -hex 32` generates one), or remove this',
    ],
    [
      'a public name that is an address',
      `${SOURCE}admin: { hosts: ["https://leads.example.com:443"] }\n`,
      '6:18: admin.hosts[0]: must be a host name such as leadsync.example.com, without a port',
    ],
    [
      'a token that can be guessed',
      `${SOURCE}admin: { token: fifteen-letters }\n`,
      '6:17: admin.token: must be at least 16 characters without spaces, such as the output of `openssl rand -hex 32`',
    ],
    [
      'a token that no header can hold',
      `${SOURCE}admin: { token: "correct horse battery staple" }\n`,
      '6:17: admin.token: must be at least 16 characters without spaces, such as the output of `openssl rand -hex 32`',
    ],
    [
      'no Redis address',
      `${SOURCE}queue: { redis_url: localhost }\n`,
      '6:21: queue.redis_url: must be a redis:// or rediss:// address such as redis://127.0.0.1:6379/0',
    ],
    [
      'a missing secret file',
      `${SOURCE}tokens: { encryption_key: { file: /nowhere/key } }\n`,
      '6:35: tokens.encryption_key.file: cannot read /nowhere/key: there is no such file (ENOENT)',
    ],
    [
      'a secret of another form',
      `${SOURCE}tokens: { encryption_key: { path: /nowhere/key } }\n`,
      '6:27: tokens.encryption_key: must be text, or { file: /run/secrets/x }',
    ],
    [
      'a key of five letters',
      `${SOURCE}tokens: { encryption_key: abcde }\n`,
      '6:27: tokens.encryption_key: must be 32 bytes in hexadecimal or base64 (openssl rand -base64 32), or a passphrase of at least 16 characters',
    ],
    // variables
    [
      'a variable that is not set',
      `${SOURCE}data_dir: \${DATA_DIR}\n`,
      '6:11: data_dir: the variable DATA_DIR is not set; set it, or add a default: ${DATA_DIR:-…}',
    ],
    [
      'a misspelt variable',
      `${SOURCE}data_dir: \${HOEM}\n`,
      '6:11: data_dir: the variable HOEM is not set; did you mean "HOME"?',
    ],
    [
      'a message of the operator',
      `${SOURCE}data_dir: "\${DATA_DIR:?ask Ann}"\n`,
      '6:11: data_dir: the variable DATA_DIR is not set; ask Ann',
    ],
    [
      'a single dollar',
      `${SOURCE}data_dir: a$b\n`,
      '6:11: data_dir: has a single $; write ${NAME} for a variable, or $$ for a dollar sign',
    ],
    [
      'a reference that is not closed',
      `${SOURCE}data_dir: \${HOME\n`,
      '6:11: data_dir: has a ${ without its }; close it, or write $$ for a dollar sign',
    ],
    [
      'a variable in a default',
      `${SOURCE}data_dir: \${A:-\${HOME}}\n`,
      '6:11: data_dir: has an invalid ${…}; write ${NAME}, ${NAME:-default} or ${NAME:?message}, without another ${…} inside',
    ],
    [
      'a text for a number, from a variable',
      sink('altitude: ${HOME}'),
      '10:15: sinks.p.altitude: must be a number',
    ],
  ])('%s', (_, text, ...expected) => {
    expect(faultsOf(text, { HOME: '/home/ann' })).toEqual(expected);
  });
});

test('all faults are reported together, in the order of the file', () => {
  const text = `data_dir: ""
sources:
  Main:
    base_url: leads.example.com
    client_secret: \${MISSING}
    poll: { every: 5, cron: x, colour: red }
sinks:
  a: { type: pigeon, speed: 3 }
  b:
    type: owl
    timeout: soon
    beak: long
log:
  level: loud
  level: louder
admin: !on { listen: off }
---
more: 1
`;
  expect(faultsOf(text).map((line) => line.replace(/;.*/, ''))).toEqual([
    '1:11: data_dir: must not be empty',
    '3:3: sources: "Main" cannot be a name',
    '3:3: sources.Main: "client_id" is missing',
    '4:15: sources.Main.base_url: must be an http or https address such as https://leads.example.com',
    '5:20: sources.Main.client_secret: the variable MISSING is not set',
    `6:20: sources.Main.poll.every: ${DURATION}`,
    '6:29: sources.Main.poll.cron: must be a cron expression such as "*/5 8-18 * * 1-5"',
    '6:29: sources.Main.poll.cron: cannot be combined with `every`: keep one of the two',
    '6:32: sources.Main.poll: unknown key "colour"',
    '8:3: sinks.a: "loft" is missing',
    '8:22: sinks.a: unknown key "speed"',
    '10:11: sinks.b.type: must be one of pigeon',
    `11:14: sinks.b.timeout: ${DURATION}`,
    '14:10: log.level: must be one of trace, debug, info, warn, error',
    '15:3: log: the key "level" is already on line 14',
    '16:12: admin: has a YAML tag (!…) that leadsync does not know',
    '17:1: a second document begins here',
  ]);
});

test('every line with a syntax error is reported, once', () => {
  const faults = faultsOf('a: "\\q \\w"\nb: @c\nd: "\\e"}\n');
  expect(faults.map((line) => line.split(' ')[0])).toEqual(['1:5:', '2:4:', '3:8:']);
});

test('Windows line endings and a byte-order mark change no position', () => {
  const text = `dat_dir: x\n${SOURCE}log: { level: 5 }\n`;
  expect(faultsOf(`\uFEFF${text.replaceAll('\n', '\r\n')}`)).toEqual(faultsOf(text));
});

test('a fault in a value with an alias is reported once, where the value is written', () => {
  const text = `${SOURCE}sinks:\n  a: &a { type: pigeon, loft: x, altitude: 0 }\n  b: *a\n`;
  expect(faultsOf(text)).toEqual(['7:44: sinks.b.altitude: must be 1 or more']);
});

test('aliases that multiply without end are rejected', () => {
  const levels = Array.from(
    { length: 12 },
    (_, n) => `a${n}: &a${n} [${Array(10).fill(n === 0 ? 'x' : `*a${n - 1}`)}]`,
  );
  const faults = faultsOf(`${levels.join('\n')}\n`);
  expect(faults).toHaveLength(1);
  expect(faults[0]).toMatch(/^\d+:\d+: .*too deep or too large/);
});

test('the faults of a file full of incomplete references or aliases are reported quickly', () => {
  const start = process.cpuUsage();
  expect(faultsOf(`${SOURCE}data_dir: "${'${'.repeat(100_000)}"\n`)).toHaveLength(1);
  expect(faultsOf(`a: &a 1\nb:\n${' - *a\n'.repeat(30_000)}`)).toHaveLength(1);
  const { user, system } = process.cpuUsage(start);
  expect((user + system) / 1000).toBeLessThan(5000);
});

test.each(['[', '- ', 'a: ['])('an endless nesting of %j is rejected', (opening) => {
  expect(faultsOf(opening.repeat(20_000))).not.toEqual([]);
});

test('control characters are escaped for a terminal', () => {
  expect(faultsOf(`${SOURCE}"\\e[2J": 1\n`)[0]).toContain('unknown key "\\u001b[2J"');
});
