import { describe, expect, test } from 'vitest';
import { compareConfigs } from '../../src/config/changes/compare-configs.ts';
import { faultsOf, read, SOURCE } from './reading.ts';

const TOKENS = `${SOURCE}admin:
  listen: 0.0.0.0:9464
  tokens:
    anna: { token: "\${ANNA}", role: admin }
    bob: { token: token-of-bobs-own, role: viewer }
`;
const env = { ANNA: 'token-of-annas-own' };

describe('named tokens', () => {
  test('have a name, a role and a secret; the first admin is the one that commands send', () => {
    const { adminTokens, adminToken } = read(TOKENS, env);
    expect(adminTokens.map(({ name, role, token }) => [name, role, token.reveal()])).toEqual([
      ['anna', 'admin', 'token-of-annas-own'],
      ['bob', 'viewer', 'token-of-bobs-own'],
    ]);
    expect(adminToken?.reveal()).toBe('token-of-annas-own');
    expect(JSON.stringify(adminTokens)).not.toContain('own');
  });

  test('come after admin.token, which is an admin of that name', () => {
    const { adminTokens, adminToken } = read(`${TOKENS}  token: token-of-everyone\n`, env);
    expect(adminTokens.map(({ name, role }) => [name, role])).toEqual([
      ['admin', 'admin'],
      ['anna', 'admin'],
      ['bob', 'viewer'],
    ]);
    expect(adminToken?.reveal()).toBe('token-of-everyone');
  });

  test('are masked where the configuration is shown', () => {
    const shown = read(TOKENS, env).values.filter(({ path }) => path.startsWith('admin.tokens'));
    expect(shown.map(({ path }) => path)).toContain('admin.tokens.anna.token');
    expect(JSON.stringify(shown)).not.toContain('own');
  });

  test('take effect at a reload, which names the option', () => {
    const changed = TOKENS.replace('role: viewer', 'role: operator');
    expect(compareConfigs(read(TOKENS, env), read(changed, env)).live).toEqual(['admin.tokens']);
    const rotated = read(TOKENS, { ANNA: 'another-of-annas' });
    expect(compareConfigs(read(TOKENS, env), rotated).live).toEqual(['admin.tokens']);
  });

  test.each([
    ['no role', 'anna: { token: token-of-annas-own }', '"role" is missing'],
    ['an unknown role', 'anna: { token: token-of-annas-own, role: owner }', 'admin.tokens.anna.role'],
    ['a short token', 'anna: { token: short, role: viewer }', 'must be at least 16 characters'],
    [
      'the name of admin.token',
      'admin: { token: token-of-annas-own, role: viewer }',
      '`admin` is the name of admin.token; choose another name',
    ],
    [
      'the token of another name',
      'anna: { token: token-of-everyone, role: viewer }',
      'is also the token of admin; make another one with `openssl rand -hex 32`',
    ],
  ])('%s is a fault that does not show the token', (_, entry, message) => {
    const faults = faultsOf(`${SOURCE}admin:\n  token: token-of-everyone\n  tokens:\n    ${entry}\n`).join(
      '\n',
    );
    expect(faults).toContain(message);
    expect(faults).not.toMatch(/annas|everyone/);
  });
});

describe('a trusted header', () => {
  const PROXY = `${SOURCE}admin:\n  token: token-of-everyone\n  trusted_proxies: [10.0.0.5]\n  trusted_header:\n    name: X-Forwarded-User\n`;

  test('has the roles of persons, and one for everyone else', () => {
    const { adminHeader } = read(
      `${PROXY}    roles: { anna@example.com: admin }\n    default_role: viewer\n`,
    );
    expect(adminHeader).toEqual({
      name: 'X-Forwarded-User',
      roles: new Map([['anna@example.com', 'admin']]),
      defaultRole: 'viewer',
    });
    expect(compareConfigs(read(PROXY), read(`${PROXY}    default_role: viewer\n`)).live).toEqual([
      'admin.trusted_header',
    ]);
  });

  test.each([
    [
      PROXY.replace('  trusted_proxies: [10.0.0.5]\n', ''),
      'no proxy is trusted to set it; add the addresses of the proxy to',
    ],
    [PROXY.replace('X-Forwarded-User', 'Cookie'), 'has another meaning'],
    [PROXY.replace('X-Forwarded-User', '"X Y"'), 'must be the name of a header'],
  ])('%j is a fault', (text, message) => {
    expect(faultsOf(text).join('\n')).toContain(message);
  });
});
