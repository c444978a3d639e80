import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { tempDir } from '../../support/files/temp-dir.ts';
import { aListedLead } from '../../support/scene/a-lead.ts';
import { canaryLead, canarySecret, expectNoCanary } from '../../support/scene/canary.ts';
import { attemptDue, Install, type RunOptions } from '../an-install.ts';

const LINE =
  '{"level":"info","time":"2026-11-20T10:00:00.000Z","pid":1,"event":"started","msg":"leadsync started."}';

/** Makes a bundle, and unpacks it by a program that is not ours. */
async function bundle(install: Install, args: readonly string[] = [], more: RunOptions = {}) {
  const output = join(install.folder, 'bundle.tar.gz');
  const said = await install.run(['support-bundle', '--output', output, ...args], more);
  const folder = tempDir();
  const unpacked = spawnSync('tar', ['-xzf', output, '-C', folder]);
  expect(unpacked.status).toBe(0);
  const [top = ''] = readdirSync(folder);
  const names = readdirSync(join(folder, top)).sort();
  const read = (name: string) => readFileSync(join(folder, top, name), 'utf8');
  return { ...said, output, top, names, read };
}

describe('leadsync support-bundle', () => {
  test('contains the files for support, and prints what it contains and what it leaves out', async () => {
    const install = new Install();
    await install.listed(1, 2);
    const { code, stderr, stdout, top, names, read, output } = await bundle(install);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(top).toBe('leadsync-support-20261120T100000Z');
    expect(names).toEqual([
      'CONTENTS.txt',
      'config.json',
      'daemon.json',
      'ledger.json',
      'polls.json',
      'status.json',
      'versions.json',
    ]);
    for (const name of ['in-force.json', 'metrics.prom'])
      expect(stdout).toMatch(new RegExp(`^${name} +LEFT OUT: admin\\.listen is off$`, 'm'));
    expect(stdout).toMatch(/^log\.jsonl +LEFT OUT: leadsync logs to standard error; name the log file/m);
    expect(stdout.startsWith(read('CONTENTS.txt'))).toBe(true);
    expect(JSON.parse(read('ledger.json'))).toMatchObject({
      sqlite: expect.stringMatching(/^\d+\.\d+/),
      rows: { _versions: 2, polls: 1 },
    });
    expect(JSON.parse(read('polls.json'))).toMatchObject([{ status: 'success', new: 2 }]);
    expect(JSON.parse(read('versions.json'))).toHaveProperty('leadsync');
    expect(statSync(output).mode & 0o777).toBe(0o600);
  });

  test('contains no lead and no secret, whatever fails', async () => {
    const install = new Install({
      sources: {
        main: { base_url: 'http://127.0.0.1:9', client_id: 'id', client_secret: canarySecret('client') },
      },
      sinks: {
        crm: {
          type: 'webhook',
          url: `http://127.0.0.1:9/${canarySecret('path')}?key=${canarySecret('query')}`,
          headers: { authorization: canarySecret('header') },
        },
        db: { type: 'postgres', url: `postgres://u:${canarySecret('password')}@127.0.0.1:9/db` },
      },
      queue: { redis_url: `redis://:${canarySecret('redis')}@127.0.0.1:9` },
    });
    const ledger = await install.recorded(
      [1, 2].map((id) => ({ ...aListedLead({ id }), raw: canaryLead(id) })),
    );
    const answer = canaryLead(1);
    await attemptDue(ledger, 'crm', install.clock, () => ({
      kind: 'refused',
      reason: 'It says no.',
      answer,
    }));
    const log = join(install.folder, 'leadsync.log');
    writeFileSync(log, `${LINE}\n${canaryLead(3)}\nk9canary7q in a line of another program\n`);
    const { output, stdout } = await bundle(install, ['--log', log]);
    expectNoCanary(gunzipSync(readFileSync(output)).toString(), 'the bundle');
    expectNoCanary(stdout);
  });

  test('includes the lines of leadsync from a log, from a file or from standard input, even with a prefix', async () => {
    const install = new Install();
    await install.listed(1);
    const text = `Starting up\n${LINE}\nleadsync-1  | ${LINE}\n{"level":"info","name":"k9canary7q"}\n\n`;
    const log = join(install.folder, 'leadsync.log');
    writeFileSync(log, text);
    expect((await bundle(install, ['--log', log])).read('log.jsonl')).toBe(`${LINE}\n${LINE}\n`);
    const other = new Install();
    await other.listed(1);
    expect((await bundle(other, ['--log', '-'], { stdin: text })).read('log.jsonl')).toBe(
      `${LINE}\n${LINE}\n`,
    );
  });

  test('includes the end of a long log', async () => {
    const install = new Install();
    const lines = Array.from({ length: 9_000 }, (_, at) => LINE.replace('"pid":1', `"pid":${at}`));
    const log = join(install.folder, 'leadsync.log');
    writeFileSync(log, lines.join('\n'));
    const { read } = await bundle(install, ['--log', log]);
    expect(read('log.jsonl').trimEnd().split('\n')).toEqual(lines.slice(-2_000));
  });

  test.each([
    ['a log that is not there', ['--log', '/nowhere/leadsync.log'], /log cannot be read \(ENOENT\)/],
    ['a log of another form', ['--log', '/dev/null'], /none of 0 lines is a JSON log line from leadsync/],
  ])('is written without %s, and says so', async (_, args, words) => {
    const install = new Install();
    await install.listed(1);
    const { code, stdout, names } = await bundle(install, args);
    expect(code).toBe(0);
    expect(stdout).toMatch(words);
    expect(names).not.toContain('log.jsonl');
  });

  test('is written without a ledger, and with an invalid configuration, whose faults it contains', async () => {
    const fresh = await bundle(new Install());
    expect(fresh.stdout).toMatch(/^ledger\.json +LEFT OUT: There is no ledger/m);
    expect(fresh.names).toContain('config.json');
    const wrong = await bundle(new Install({ sinks: { crm: { type: 'fax' } } }));
    expect(wrong.code).toBe(0);
    expect(wrong.names).toEqual(['CONTENTS.txt', 'daemon.json', 'versions.json']);
    expect(wrong.read('CONTENTS.txt')).toMatch(
      /config\.json +LEFT OUT: the configuration is invalid: .*must be one of/,
    );
  });

  test('sends the token to the running leadsync, and says if there is none', async () => {
    const token = 'a-token-of-some-length';
    const answers: Record<string, string> = {
      '/metrics': 'leadsync_up 1\n',
      '/api/v1/configuration': '{"generation":3}',
    };
    const server = createServer(({ headers, url = '' }, response) => {
      const known = headers.authorization === `Bearer ${token}`;
      response.writeHead(known ? 200 : 401).end(known ? answers[url] : 'no');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const listen = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { read, output } = await bundle(new Install({ admin: { listen, token } }));
    expect(read('metrics.prom')).toBe('leadsync_up 1\n');
    expect(read('in-force.json')).toBe('{"generation":3}');
    expect(gunzipSync(readFileSync(output)).toString()).not.toContain(token);
    const without = await bundle(new Install({ admin: { listen, token: '${NOWHERE}' } }));
    expect(without.stdout).toMatch(/^metrics\.prom +LEFT OUT: leadsync requires admin\.token/m);
  });

  test('never overwrites a file', async () => {
    const install = new Install();
    const { output } = await bundle(install);
    const before = readFileSync(output);
    const { code, stdout, stderr } = await install.run(['support-bundle', '--output', output]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/already exists and was not changed\.\nName another file with --output\./);
    expect(readFileSync(output).equals(before)).toBe(true);
  });

  test('reports a folder that cannot be written to', async () => {
    const { code, stderr } = await new Install().run([
      'support-bundle',
      '--output',
      '/proc/nothing/x.tar.gz',
    ]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/cannot be written \(ENOENT\)/);
  });
});
