import { describe, expect, test } from 'vitest';
import { compareConfigs } from '../../src/config/changes/compare-configs.ts';
import { configWarnings } from '../../src/config/config-warnings.ts';
import { addressesToRegister } from '../../src/operations/login-redirect-addresses.ts';
import { faultsOf, read, SOURCE } from './reading.ts';

const oidc = (more = '', issuer = 'https://sso.example.com/realms/acme') =>
  `  oidc:\n    issuer: ${issuer}\n    client_id: leadsync\n${more}`;
const ADMIN = `${SOURCE}admin:\n  token: token-of-everyone\n`;
const ROLES = '    roles: { anna@example.com: admin }\n';

describe('admin.oidc', () => {
  test('has a provider and roles, with defaults for the rest', () => {
    const { adminLogin } = read(
      `${ADMIN}${oidc(`${ROLES}    client_secret: the-secret-of-the-client\n    group_roles: { ops: operator }\n    default_role: viewer\n`)}`,
    );
    expect(adminLogin?.provider).toMatchObject({
      scopes: ['openid', 'profile', 'email'],
      name_claim: 'email',
      groups_claim: 'groups',
    });
    expect(adminLogin?.roles).toEqual({
      roles: new Map([['anna@example.com', 'admin']]),
      groupRoles: new Map([['ops', 'operator']]),
      defaultRole: 'viewer',
    });
    expect(adminLogin?.provider.client_secret?.reveal()).toBe('the-secret-of-the-client');
    expect(JSON.stringify(adminLogin)).not.toContain('the-secret');
    expect(read(ADMIN).adminLogin).toBeUndefined();
  });

  test('takes effect at a reload, also if only the secret changed', () => {
    const text = `${ADMIN}${oidc(`${ROLES}    client_secret: one\n`)}`;
    expect(compareConfigs(read(text), read(text)).live).toEqual([]);
    expect(compareConfigs(read(text), read(text.replace('admin }', 'viewer }'))).live).toEqual([
      'admin.oidc',
    ]);
    expect(compareConfigs(read(text), read(text.replace('secret: one', 'secret: two'))).live).toEqual([
      'admin.oidc',
    ]);
  });

  test.each([
    [ROLES, 'http://sso.example.com', 'must begin with https://'],
    [ROLES, 'sso.example.com', 'must be an address such as'],
    [ROLES, '"https://sso.example.com/?a=b"', 'without a query'],
    [ROLES, 'https://anna:secret@sso.example.com', 'must be an address such as'],
    [ROLES, 'https://sso.example.com/.well-known/openid-configuration', 'must be the issuer itself'],
    [
      ROLES,
      'https://login.microsoftonline.com/common/v2.0',
      'lets in the people of every company; name your tenant',
    ],
    [ROLES, 'https://login.microsoftonline.com/organizations/v2.0', 'lets in the people of every company'],
    ['', undefined, 'no person would have a role; add roles'],
    ['    roles: { anna@example.com: owner }\n', undefined, 'admin.oidc.roles'],
    [`${ROLES}    scopes: [email]\n`, undefined, 'must contain openid'],
    [`${ROLES}    scopes: ["openid email"]\n`, undefined, 'must be a scope'],
    [`${ROLES}    label: "<b>"\n`, undefined, 'must be a name of at most 50'],
  ])('%j with issuer %s is a fault', (more, issuer, message) => {
    expect(faultsOf(`${ADMIN}${oidc(more, issuer)}`).join('\n')).toContain(message);
  });

  test.each([
    'https://LOGIN.microsoftonline.com/Common/v2.0',
    'https://login.microsoftonline.com:443/common/',
    'https://login.microsoftonline.com./common/v2.0',
    'https://login.microsoftonline.com//common/v2.0',
    'https://login.microsoftonline.com/x/../common/v2.0',
    'https://login.microsoftonline.com/%63ommon/v2.0',
    'https://login.microsoftonline.com/%2Fcommon/v2.0',
    'https://login.microsoftonline.com/consumers',
    'https://login.microsoftonline.com/9188040D-6c67-4c5b-b112-36a304b66dad/v2.0',
    'https://login.microsoftonline.com/{tenantid}/v2.0',
    'https://login.microsoftonline.us/organizations/v2.0',
    'https://sts.windows.net/common/',
    'https://sts.windows.net/%7Btenantid%7D/',
    'https://login.windows.net/Organizations',
  ])('with the issuer %s lets in the people of every company, and is a fault', (issuer) =>
    expect(faultsOf(`${ADMIN}${oidc(ROLES, `"${issuer}"`)}`).join('\n')).toContain(
      'lets in the people of every company; name your tenant',
    ),
  );

  test.each([
    'https://sts.windows.net/72f988bf-86f1-41af-91ab-2d7cd011db47/',
    'https://sso.example.com/common/v2.0',
    'https://login.microsoftonline.com/%zz/v2.0',
    'http://127.0.0.1:8080/realms/acme',
    'http://localhost:8080',
    'https://login.microsoftonline.com/acme.example/v2.0',
  ])('may have the issuer %s', (issuer) =>
    expect(read(`${ADMIN}${oidc(ROLES, issuer)}`).adminLogin?.provider.issuer).toBe(issuer),
  );

  test('needs a token with the role admin, because commands cannot log in at a provider', () => {
    const message = 'commands such as `leadsync reload` cannot log in at a provider';
    expect(faultsOf(`${SOURCE}admin:\n${oidc(ROLES)}`).join('\n')).toContain(message);
    const viewer = `${SOURCE}admin:\n  tokens: { wall: { token: token-of-the-wall-screen, role: viewer } }\n${oidc(ROLES)}`;
    expect(faultsOf(viewer).join('\n')).toContain(message);
  });

  test('needs an address to come back to, unless only this machine can connect', () => {
    const open = `${ADMIN}  listen: 0.0.0.0:9464\n`;
    expect(faultsOf(`${open}${oidc(ROLES)}`).join('\n')).toContain(
      'the provider would not know where to send people back to; set admin.public_url',
    );
    const registered = (text: string) => addressesToRegister(read(`${text}${oidc(ROLES)}`));
    expect(registered(`${open}  public_url: https://leadsync.example.com\n`)).toBe(
      'Register at the provider: https://leadsync.example.com/login/oidc/callback as redirect URI, https://leadsync.example.com/login as post-logout redirect URI.',
    );
    expect(registered(`${open}  hosts: [leads.example.com]\n`)).toContain(
      'https://leads.example.com/login/oidc/callback as redirect',
    );
    expect(registered(ADMIN)).toContain('http://127.0.0.1:9464/login/oidc/callback as redirect');
  });

  test('causes a warning if it admits everyone with a Google account, or if people reach it over http', () => {
    const warnings = (text: string) => configWarnings(read(text)).filter((line) => line.startsWith('admin.'));
    const google = 'https://accounts.google.com';
    expect(warnings(`${ADMIN}${oidc(ROLES, google)}`)).toEqual([]);
    expect(warnings(`${ADMIN}${oidc('    default_role: viewer\n', google)}`)).toEqual([
      expect.stringContaining('gives a role to everyone with a Google account'),
    ]);
    expect(warnings(`${ADMIN}  public_url: http://leadsync.example.com\n${oidc(ROLES)}`)).toEqual([
      expect.stringContaining('can be read in transit'),
    ]);
  });
});
