import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { SinkUnavailable } from '../../../src/sinks/sink-unavailable.ts';
import { testBatch } from '../../../src/sinks/test-batch.ts';
import { aBatch, aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { HeldClock } from '../../support/time/held-clock.ts';
import { until } from '../../support/time/until.ts';
import { openExec, ProgramFolder } from './open-exec.ts';

const NEVER = new AbortController().signal;

let folder: ProgramFolder;
beforeEach(() => {
  folder = new ProgramFolder();
  vi.stubEnv('TMPDIR', folder.path);
});
afterEach(() => {
  vi.unstubAllEnvs();
  folder.remove();
});

const read = (name: string) => readFileSync(folder.at(name), 'utf8');

/** Leads of about 6 MB together: more than any pipe holds. */
function manyLeads() {
  const raw = (id: number) => aLead({ id, all_details_one_liner: 'é'.repeat(30_000) });
  return aBatch(
    Array.from({ length: 100 }, (_, at) => aDelivery({ leadId: BigInt(at + 1), raw: raw(at + 1) })),
  );
}

async function failureOf(work: Promise<unknown>): Promise<SinkUnavailable> {
  const error = await work.then(
    () => expect.fail('no failure'),
    (thrown) => thrown,
  );
  expect(error).toBeInstanceOf(SinkUnavailable);
  return error;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

describe('the pipes of a program', () => {
  test('its input is a pipe, so that it can open /dev/stdin', async () => {
    const sink = openExec({ command: ['cp', '/dev/stdin', folder.at('copy')] });
    expect(await sink.deliver(aBatch(2), NEVER)).toEqual([{ kind: 'delivered' }, { kind: 'delivered' }]);
    expect(
      read('copy')
        .split('\n')
        .map((line) => line && JSON.parse(line).data.id),
    ).toEqual([1, 2, '']);
  });

  test('it may write any amount to standard output and standard error before and while it reads', async () => {
    const command = folder.node(
      'floods',
      `
const fill = 'x'.repeat(1024 * 1024);
for (let at = 0; at < 8; at += 1) { fs.writeSync(1, fill); fs.writeSync(2, fill); }
let bytes = 0;
process.stdin.on('data', (chunk) => { bytes += chunk.length; fs.writeSync(1, chunk); fs.writeSync(2, chunk); });
process.stdin.on('end', () => fs.writeFileSync(here('bytes'), String(bytes)));
`,
    );
    const outcomes = await openExec({ command }).deliver(manyLeads(), NEVER);
    expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['delivered']));
    expect(Number(read('bytes'))).toBeGreaterThan(6_000_000);
  });

  test('a program that ends before it has read everything has not accepted the leads, whatever its exit code', async () => {
    const error = await failureOf(openExec({ command: ['true'] }).deliver(manyLeads(), NEVER));
    expect(error.message).toBe('true ended with exit code 0 before it had read every lead.');
    expect(error.hint).toContain('to the end');
  });

  test('a program that never reads and fails is judged by its exit code', async () => {
    const error = await failureOf(openExec({ command: ['false'] }).deliver(manyLeads(), NEVER));
    expect(error.message).toBe('false ended with exit code 1.');
  });

  test('processes that a program leaves behind have a moment to complete their work, even without open outputs', async () => {
    const writes = 'while kill -0 $$ 2> /dev/null; do :; done; cat > copy';
    const command = ['/bin/sh', '-c', `exec 3<&0; { ${writes}; } <&3 > /dev/null 2>&1 & exit 0`];
    const sink = openExec({ command, cwd: folder.path });
    expect(await sink.deliver(aBatch(2), NEVER)).toEqual([{ kind: 'delivered' }, { kind: 'delivered' }]);
    expect(read('copy').split('\n')).toHaveLength(3);
  });

  test('processes that a program leaves behind are ended, and do not delay the attempt', async () => {
    const command = folder.node(
      'forks',
      `
readAll();
const { spawn } = require('node:child_process');
const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' });
fs.writeFileSync(here('child'), String(child.pid));
process.exit(0);
`,
    );
    expect(await openExec({ command }).deliver(aBatch(1), NEVER)).toEqual([{ kind: 'delivered' }]);
    await until('the child has ended', () => !isAlive(Number(read('child'))));
  });
});

describe('the end of a program that hangs', () => {
  const HANGS = `
process.on('SIGTERM', () => fs.writeFileSync(here('asked'), ''));
setInterval(() => undefined, 60_000); // it would end by itself when its child does, which is asked to end as well
fs.writeFileSync(here('pid'), String(process.pid));
require('node:child_process').spawn('sleep', ['1000'], { stdio: 'inherit' }).once('spawn', function () {
  fs.writeFileSync(here('child'), String(this.pid));
});
`;

  test('at the timeout it gets SIGTERM, and is then killed with all processes that it started', async () => {
    const clock = new HeldClock();
    const sink = openExec({ command: folder.node('hangs', HANGS) }, { timeoutMs: 60_000, clock });
    const failure = failureOf(sink.deliver(aBatch(1), NEVER));
    await until('it runs', () => existsSync(folder.at('child')));
    await clock.pass(60_000);
    await until('it is asked', () => existsSync(folder.at('asked')));
    expect(isAlive(Number(read('pid')))).toBe(true);
    await clock.pass(5_000);
    const { message, hint } = await failure;
    expect(message).toBe('node did not end within 60 s.');
    expect(hint).toContain('`timeout`');
    for (const name of ['pid', 'child']) await until(`${name} has ended`, () => !isAlive(Number(read(name))));
  });

  test.each(['an abort', 'closing the sink'])('%s ends it soon', async (end) => {
    const abort = new AbortController();
    const sink = openExec({ command: folder.node('hangs', HANGS) });
    const failure = failureOf(sink.deliver(aBatch(1), abort.signal));
    await until('it runs', () => existsSync(folder.at('child')));
    if (end === 'an abort') abort.abort();
    else await sink.close();
    expect((await failure).message).toBe('node was still running when leadsync ended the attempt.');
    await until('it has ended', () => ['pid', 'child'].every((name) => !isAlive(Number(read(name)))));
  });

  test('it is killed with all processes that it started if leadsync is killed, and its configuration is removed', async () => {
    const command = folder.node('hangs', `fs.writeFileSync(here('config'), process.argv.at(-1));${HANGS}`);
    const killed = folder.file(
      'killed.ts',
      `
import { openExec } from ${JSON.stringify(new URL('open-exec.ts', import.meta.url).href)};
import { aBatch } from ${JSON.stringify(new URL('../../support/scene/a-delivery.ts', import.meta.url).href)};
const options = { command: ${JSON.stringify(command)}, speaks: 'singer', config: { password: 'p4ssw0rd' } };
await openExec(options).deliver(aBatch(1), new AbortController().signal);
`,
    );
    const leadsync = spawn(process.execPath, [killed], { stdio: 'inherit' });
    await until('the program runs', () => existsSync(folder.at('child')), 30_000);
    expect(existsSync(read('config'))).toBe(true);
    leadsync.kill('SIGKILL');
    for (const name of ['pid', 'child']) await until(`${name} has ended`, () => !isAlive(Number(read(name))));
    await until('the configuration is gone', () => !existsSync(read('config')));
  });
});

describe('what a program gets', () => {
  test('its environment has the variables of the options and those that any program needs, and no others', async () => {
    vi.stubEnv('LEADS_CLIENT_SECRET', 's3cr3t');
    const command = ['/bin/sh', '-c', 'cat > /dev/null; env > environment; pwd > folder'];
    const sink = openExec({
      command,
      cwd: folder.path,
      env: { PGPASSWORD: 'p4ssw0rd', PATH: '/usr/bin:/bin' },
    });
    await sink.deliver(aBatch(1), NEVER);
    const names = read('environment')
      .split('\n')
      .map((line) => line.split('=')[0] ?? '');
    const shells = ['PWD', 'OLDPWD', 'SHLVL', '_', ''];
    const allowed = [
      'PATH',
      'HOME',
      'USER',
      'LOGNAME',
      'LANG',
      'LC_ALL',
      'TZ',
      'TMPDIR',
      'PGPASSWORD',
      ...shells,
    ];
    expect(names.filter((name) => !allowed.includes(name))).toEqual([]);
    expect(read('environment')).toContain('PGPASSWORD=p4ssw0rd\n');
    expect(read('environment')).toContain('PATH=/usr/bin:/bin\n');
    expect(read('folder')).toBe(`${folder.path}\n`);
  });

  test('no shell reads its arguments', async () => {
    const odd = ['$HOME', '; touch hacked', '"', "'", '', '*', '-n', 'é\n'];
    const command = [
      ...folder.node(
        'args',
        "readAll(); fs.writeFileSync(here('args'), JSON.stringify(process.argv.slice(2)));",
      ),
      ...odd,
    ];
    await openExec({ command, cwd: folder.path }).deliver(aBatch(1), NEVER);
    expect(JSON.parse(read('args'))).toEqual(odd);
  });

  test.each([0, 1])(
    'the configuration of a target is in a private file, which is removed (exit code %i)',
    async (code) => {
      const file = folder.file('password', 'fr0m-a-file\n', 0o600);
      const command = folder.node(
        'target',
        `
const config = process.argv.at(-1);
const modes = [config, path.dirname(config)].map((name) => (fs.statSync(name).mode & 0o777).toString(8));
fs.writeFileSync(here('seen'), JSON.stringify({ args: process.argv.slice(2), modes, config: JSON.parse(fs.readFileSync(config, 'utf8')) }));
console.log(linesOf(readAll()).map((line) => JSON.parse(line)).filter(({ type }) => type === 'STATE').map(({ value }) => JSON.stringify(value)).join(''));
process.exitCode = ${code};
`,
      );
      const config = {
        user: 'u',
        password: { file },
        port: 5432,
        tls: false,
        none: null,
        list: ['a'],
        map: { deep: 'b' },
      };
      const sink = openExec({ command: [...command, '--verbose'], speaks: 'singer', config });
      const delivered = await sink.deliver(aBatch(1), NEVER).catch(() => undefined);
      expect(delivered?.[0]?.kind).toBe(code === 0 ? 'delivered' : undefined);
      const seen = JSON.parse(read('seen'));
      expect(seen.args).toEqual(['--verbose', '--config', expect.stringContaining(folder.path)]);
      expect(seen.modes).toEqual(['600', '700']);
      expect(seen.config).toEqual({ ...config, password: 'fr0m-a-file' });
      expect(readdirSync(folder.path).filter((name) => name.startsWith('leadsync-exec-'))).toEqual([]);
    },
  );
});

describe('standard error', () => {
  const SAYS = [
    '/bin/sh',
    '-c',
    'cat > /dev/null; head -c 100000 /dev/zero | tr "\\0" x >&2; echo "key $KEY of Anna Meier" >&2; exit 3',
  ];

  test('its end is kept with the attempt, without secrets, and is not in the reason', async () => {
    const sink = openExec({ command: SAYS, env: { KEY: 'k4n4rienvogel' } });
    const { message, hint, answer } = await failureOf(sink.deliver(aBatch(1), NEVER));
    expect(answer).toHaveLength(1000);
    expect(answer).toMatch(/xkey \[secret\] of Anna Meier$/);
    expect(`${message} ${hint}`).not.toMatch(/Anna|k4n4rienvogel/);
  });

  test('a test event shows it, because its lead is fictitious', async () => {
    const sink = openExec({ command: SAYS, env: { KEY: 'k4n4rienvogel' } });
    const { arrived, what } = await sink.test(testBatch('sink', new Date(0)), NEVER);
    expect(arrived).toBe(false);
    expect(what).toMatch(
      /^sh ended with exit code 3\. Its standard error ends with: x+key \[secret\] of Anna Meier$/,
    );
  });
});

test('a check starts nothing', async () => {
  const command = folder.node('notes', "fs.writeFileSync(here('started'), '');");
  await openExec({ command, speaks: 'singer', config: { key: 'value' } }).check(NEVER);
  expect(existsSync(folder.at('started'))).toBe(false);
  expect(readdirSync(folder.path)).toEqual(['notes.cjs']);
  expect(statSync(folder.path).isDirectory()).toBe(true);
});

test('a program can distinguish a test event from a lead by its environment', async () => {
  const command = ['/bin/sh', '-c', 'cat >> leads; echo "$LEADSYNC_TEST" >> tests'];
  const sink = openExec({ command, cwd: folder.path });
  await sink.test(testBatch('sink', new Date(0)), NEVER);
  await sink.deliver(aBatch(1), NEVER);
  expect(read('tests')).toBe('1\n\n');
});
