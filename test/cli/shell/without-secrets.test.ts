import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { Install } from '../an-install.ts';

/** A configuration whose every secret is somewhere that only the daemon can look. */
function aBareShell(more = ''): Install {
  const install = new Install();
  writeFileSync(
    install.configFile,
    `data_dir: ./data
sources:
  main:
    base_url: \${LEADS_URL}
    client_id: \${LEADS_CLIENT_ID:?ask the vault}
    client_secret: { file: /run/secrets/of-the-daemon }
sinks:
  crm:
    type: webhook
    url: https://\${CRM_HOST}/hooks
    secret: \${CRM_SECRET}
    headers: { authorization: "Bearer \${CRM_TOKEN}" }
  drop: { type: csv, directory: "\${DROP}/leads" }
queue:
  redis_url: redis://\${REDIS_HOST}:6379
tokens:
  encryption_key: { file: /run/secrets/key }
admin: { listen: off, token: "\${ADMIN_TOKEN}" }
${more}`,
  );
  return install;
}

describe('in a shell without the daemon’s environment', () => {
  test.each([
    [['status'], 0],
    [['status', '--json'], 0],
    [['trace', '1'], 0],
    [['deliveries'], 0],
    [['top', '--once'], 0],
    [['config', 'show'], 0],
    [['retry', '--all'], 0],
    [['replay', '--sink', 'crm', '--lead', '1'], 0],
    [['pause', 'crm'], 0],
    [['resume', 'crm'], 0],
  ] as const)('%j does what it does', async (args, code) => {
    const install = aBareShell();
    await install.listed(1);
    const said = await install.run(args);
    expect(said.stderr).not.toContain('is not set');
    expect(said.code).toBe(code);
  });

  test('healthcheck knows whom to ask', async () => {
    const { stderr, code } = await aBareShell().run(['healthcheck']);
    expect(stderr).toContain('admin.listen is off');
    expect(code).toBe(1);
  });

  test.each([
    ['validate'],
    ['check'],
    ['run'],
    ['sync'],
    ['worker'],
    ['test-sink', 'crm'],
    ['preview', '--sink', 'crm', '--lead', '1'],
  ])('%s still wants every secret', async (...command) => {
    const { stderr, code } = await aBareShell().run(command);
    expect(code).toBe(78);
    for (const absent of [
      'LEADS_URL',
      'LEADS_CLIENT_ID',
      'CRM_HOST',
      'CRM_SECRET',
      'CRM_TOKEN',
      'REDIS_HOST',
    ])
      expect(stderr).toContain(`the variable ${absent} is not set`);
    expect(stderr).toContain('cannot read /run/secrets/of-the-daemon: there is no such file (ENOENT)');
    expect(stderr).toContain('cannot read /run/secrets/key: there is no such file (ENOENT)');
  });

  test('every other fault keeps from changing anything', async () => {
    const install = aBareShell('nonsense: 1\n');
    await install.listed(1);
    const { stderr, code } = await install.run(['moved', 'main']);
    expect(code).toBe(78);
    expect(stderr.trimEnd().split('\n')).toEqual([expect.stringContaining('unknown key "nonsense"')]);
  });

  test.each([
    ['data_dir: ${NOWHERE}', 'data_dir: the variable NOWHERE is not set'],
    ['sources: { main: { base_url: "${X", client_id: a, client_secret: b } }', 'has a ${ without its }'],
    ['sources: { main: { client_id: a, client_secret: b } }', '"base_url" is missing'],
    ['sources: { main: { base_url: ftp://x, client_id: a, client_secret: "${X}" } }', 'must be an http'],
    [
      'sources: { main: { base_url: "${X}", client_id: a, client_secret: b, poll: { every: "${E}" } } }',
      'E is',
    ],
    [
      'sinks: { a: { type: csv, directory: "${X}", retry: { schedule: ["${R}"] } } }',
      'variable R is not set',
    ],
  ])('%s is reported', async (yaml, message) => {
    const install = new Install();
    const source = 'sources: { main: { base_url: https://a.example, client_id: a, client_secret: b } }';
    writeFileSync(install.configFile, yaml.startsWith('sources') ? yaml : `${source}\n${yaml}\n`);
    const { stderr, code } = await install.run(['moved', 'main']);
    expect(stderr).toContain(message);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(code).toBe(78);
  });
});
