import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { tempDir } from '../../support/files/temp-dir.ts';
import { Install } from '../an-install.ts';

describe('leadsync validate', () => {
  test('prints every fault with its place, and exits with 78', async () => {
    const install = new Install();
    writeFileSync(install.configFile, 'sources: {}\nsnks: {}\n');
    const { code, stderr, stdout } = await install.run(['validate']);
    expect({ code, stdout }).toEqual({ code: 78, stdout: '' });
    expect(stderr).toContain('leadsync.yaml:1:');
    expect(stderr).toContain('did you mean "sinks"?');
  });

  test('prints the same as JSON', async () => {
    const install = new Install();
    const right = await install.run(['validate', '--json']);
    expect({ code: right.code, stderr: right.stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(right.stdout)).toEqual({
      valid: true,
      faults: [],
      warnings: [],
      file: install.configFile,
      sources: [{ name: 'main' }],
      sinks: expect.arrayContaining([{ name: 'crm', type: 'webhook', enabled: true }]),
    });
    writeFileSync(install.configFile, 'sources: {}\nsnks: {}\n');
    const wrong = await install.run(['validate', '--json']);
    expect({ code: wrong.code, stderr: wrong.stderr }).toEqual({ code: 78, stderr: '' });
    const { valid, faults } = JSON.parse(wrong.stdout);
    expect(valid).toBe(false);
    expect(faults).toContainEqual({
      file: install.configFile,
      line: 2,
      column: 1,
      path: '',
      message: 'unknown key "snks"',
      hint: 'did you mean "sinks"?',
    });
  });

  test('warns of valid options that are probably mistakes, and exits with 0', async () => {
    const main = { client_id: 'id', client_secret: 'canary-secret' };
    const install = new Install({
      sources: {
        plain: { ...main, base_url: 'http://leads.example.com' },
        deep: { ...main, base_url: 'https://leads.example.com/api/v1/leads' },
        here: { ...main, base_url: 'http://[::1]:8080' },
      },
      sinks: {
        plain: { type: 'webhook', url: 'http://crm:8080/canary-path' },
        here: { type: 'webhook', url: 'http://127.0.0.1:8080/hook' },
        off: { type: 'webhook', url: 'http://crm/', enabled: false },
      },
    });
    const { code, stderr } = await install.run(['validate']);
    expect(code).toBe(0);
    expect(stderr.trimEnd().split('\n')).toEqual([
      'warning: source plain: base_url uses http:// and is not on this machine, so client_secret, tokens and leads cross the network unencrypted. Use https://.',
      'warning: source deep: base_url ends in /api/v1/leads, and leads_path is appended to it. Remove /api/v1/leads from base_url.',
      'warning: sink plain: url uses http:// and is not on this machine, so leads cross the network unencrypted. Use https://.',
    ]);
  });

  test('warns of files that every user may change or read', async () => {
    const secret = join(tempDir(), 'client_secret');
    writeFileSync(secret, 'canary-secret');
    const main = { base_url: 'https://leads.example.com', client_id: 'id', client_secret: { file: secret } };
    const install = new Install({ sources: { main }, sinks: {} });
    const data = join(install.folder, 'data');
    mkdirSync(data);
    const warned = async (way: number, dataMode: number, config: number, file: number) => {
      chmodSync(data, dataMode);
      chmodSync(install.configFile, config);
      chmodSync(secret, file);
      for (const folder of [install.folder, dirname(secret)]) chmodSync(folder, way);
      const { code, stderr } = await install.run(['validate']);
      expect(code).toBe(0);
      return stderr;
    };
    expect(await warned(0o755, 0o700, 0o644, 0o600)).toBe('');
    expect(await warned(0o700, 0o777, 0o666, 0o666)).toBe('');
    expect(await warned(0o755, 0o755, 0o644, 0o644)).toBe(
      `warning: data_dir: every user may enter ${data}. Run: chmod 700 ${data}\n` +
        `warning: every user may read the secret in ${secret}. Run: chmod 600 ${secret}\n`,
    );
    expect(await warned(0o755, 0o777, 0o666, 0o666)).toBe(
      `warning: data_dir: every user may write to ${data}. Run: chmod 700 ${data}\n` +
        `warning: every user may change ${install.configFile}. Run: chmod o-w ${install.configFile}\n` +
        `warning: every user may change the secret in ${secret}. Run: chmod 600 ${secret}\n`,
    );
  });

  test('warns of secrets in a configuration that every user may read, only by their paths', async () => {
    const kept = join(tempDir(), 'kept');
    writeFileSync(kept, 'canary-kept', { mode: 0o600 });
    const main = { base_url: 'https://leads.example.com', client_id: 'id' };
    const hook = { type: 'webhook', url: 'https://crm.example.com/hook' };
    const install = new Install({
      sources: {
        inline: { ...main, client_secret: 'canary-inline' },
        variable: { ...main, client_secret: `\${CLIENT_SECRET}` },
        default: { ...main, client_secret: `\${NOT_SET:-canary-default}` },
        overridden: { ...main, client_secret: `\${CLIENT_SECRET:-canary-unused}` },
        file: { ...main, client_secret: { file: kept } },
      },
      sinks: {
        crm: { ...hook, secret: 'whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0' },
        headed: { ...hook, headers: { 'x-key': 'canary-header', 'x-other': `Bearer \${CLIENT_SECRET}` } },
        slack: { ...hook, url: 'https://hooks.example.com/services/T01/canaryCanaryCanary24' },
        open: { type: 'postgres', url: 'postgresql://reader@127.0.0.1/leads', schema: 'open' },
        closed: {
          type: 'postgres',
          url: 'postgresql://reader:canary-pass@127.0.0.1/leads',
          schema: 'closed',
        },
      },
      queue: { redis_url: 'redis://127.0.0.1:6379/0' },
      admin: { listen: '127.0.0.1:0', token: 'canary-token-1234' },
    });
    chmodSync(install.folder, 0o755);
    const warned = async (mode: number) => {
      chmodSync(install.configFile, mode);
      const { code, stderr } = await install.run(['validate'], { env: { CLIENT_SECRET: 'canary-variable' } });
      expect(code).toBe(0);
      return stderr.split('\n').filter((line) => line.includes('secrets in'));
    };
    const named =
      'admin.token, sources.inline.client_secret, sources.default.client_secret, sinks.crm.secret, sinks.headed.headers.x-key and 2 more';
    expect(await warned(0o644)).toEqual([
      `warning: every user may read the secrets in ${install.configFile}: ${named}. Run: chmod 600 ${install.configFile}, or move them to the environment (\${NAME}) or to files (file: …)`,
    ]);
    expect(await warned(0o640)).toEqual([]);
    chmodSync(install.folder, 0o700);
    expect(await warned(0o644)).toEqual([]);
  });

  test('counts the disabled sinks', async () => {
    const sinks = {
      a: { type: 'csv', directory: './a' },
      b: { type: 'csv', directory: './b', enabled: false },
    };
    const install = new Install({ sinks });
    expect((await install.run(['validate'])).stdout).toContain('1 source, 2 sinks, 1 of them disabled.');
  });
});

describe('the configuration', () => {
  test.each([
    ['before', (file: string) => ['-c', file, 'validate']],
    ['after', (file: string) => ['validate', '-c', file]],
    ['in one word', (file: string) => ['validate', `--config=${file}`]],
  ])('is named by -c %s the command, which wins over LEADSYNC_CONFIG', async (_, argsFor) => {
    const [install, other] = [new Install(), new Install()];
    const { stdout } = await install.run(argsFor(other.configFile));
    expect(stdout).toContain(other.configFile);
  });

  test.each(['validate', 'status', 'sync', 'run', 'check', 'healthcheck'])(
    'that is missing is named by %s, with the next step',
    async (command) => {
      const { code, stderr } = await new Install().run([command, '-c', '/nowhere/leadsync.yaml']);
      expect(code).toBe(78);
      expect(stderr.split('\n', 1)).toEqual([
        '/nowhere/leadsync.yaml: there is no such file; `leadsync init` creates one, -c names another',
      ]);
    },
  );
});
