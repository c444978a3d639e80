import { z } from 'zod';
import { isPlainHttp } from '../platform/http/address.ts';
import { builtOnce } from '../platform/options/built-once.ts';
import { secret } from '../platform/options/option-types.ts';
import { ROLES } from '../platform/options/role.ts';

/** Hosts of Entra ID, in every cloud and version. */
const ENTRA_HOST =
  /^(?:login\.microsoftonline\.(?:com|us|de)|login(?:\.partner\.microsoftonline|\.chinacloudapi)\.cn|(?:login|sts)\.windows\.net|login\.microsoft\.com)$/;
/**
 * Entra ID tenants, in lower case, that admit people from every company. Each company can give its people any email address. The UUID is the id
 * of `consumers`; `{tenantid}` stands in the issuer that the configuration of these tenants names.
 */
const EVERY_TENANT: ReadonlySet<string | undefined> = new Set([
  'common',
  'organizations',
  'consumers',
  '9188040d-6c67-4c5b-b112-36a304b66dad',
  '{tenantid}',
]);

/** RFC 6749, section 3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/** Returns the schema of `admin.oidc` in the configuration. */
export const oidcOptions = builtOnce(() =>
  z.strictObject({
    issuer: z
      .string()
      .refine(isIssuer, 'must be an address such as https://sso.example.com/realms/acme, without a query')
      .refine(
        (issuer) => !URL.canParse(issuer) || !isPlainHttp(issuer),
        'must begin with https://, because a login over http:// can be read and changed in transit',
      )
      .refine(
        (issuer) => !issuer.includes('/.well-known/'),
        'must be the issuer itself, without /.well-known/openid-configuration',
      )
      .refine(
        (issuer) => !isEveryTenant(issuer),
        'lets in the people of every company; name your tenant: https://login.microsoftonline.com/TENANT-ID/v2.0',
      )
      .describe(
        'The provider’s issuer URL, exactly as the provider publishes it: `https://sso.example.com/realms/acme`. leadsync reads the rest from `/.well-known/openid-configuration` below it, at the first login.',
      ),
    client_id: z
      .string()
      .min(1)
      .describe('The id of the client that is registered for leadsync at the provider.'),
    client_secret: secret()
      .optional()
      .describe('The secret of the client. Absent: a public client. PKCE protects the login in both cases.'),
    label: z
      .string()
      .regex(/^[\p{L}\p{N}][\p{L}\p{N}\p{P} ]{0,49}$/u, 'must be a name of at most 50 letters and digits')
      .optional()
      .describe('The name of the provider on the login page. Absent: the host of `issuer`.'),
    scopes: z
      .array(z.string().regex(SCOPE, 'must be a scope such as email'))
      .refine((scopes) => scopes.includes('openid'), 'must contain openid')
      .default(['openid', 'profile', 'email'])
      .describe(
        'Scopes that leadsync requests from the provider. Some providers send groups only if a separate scope is requested.',
      ),
    name_claim: z
      .string()
      .min(1)
      .default('email')
      .describe(
        'The claim that names a person in `roles` and in the audit log. `email` counts unless the provider says, in the ID token or at UserInfo, that the address is not verified. Choose no claim that people can set themselves.',
      ),
    roles: z
      .record(z.string().min(1), z.enum(ROLES))
      .default({})
      .describe(
        'The role of each person, by name, as in `tokens`. Names are compared exactly, including upper and lower case.',
      ),
    groups_claim: z
      .string()
      .min(1)
      .default('groups')
      .describe('The claim that lists the groups of a person.'),
    group_roles: z
      .record(z.string().min(1), z.enum(ROLES))
      .default({})
      .describe(
        'The role of the members of each group, for people who are not in `roles`. If a person is in several groups, the highest role counts. leadsync uses the groups at the time of the login, and compares them exactly.',
      ),
    default_role: z
      .enum(ROLES)
      .optional()
      .describe('The role of everyone else whom the provider logs in. Absent: they get 403.'),
  }),
);

/** The options of an OpenID provider. */
export type OidcOptions = z.output<ReturnType<typeof oidcOptions>>;

function isIssuer(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return false;
  return !/[?#\s]/.test(text) && url.username === '' && url.password === '';
}

/** Whether an issuer is an Entra ID issuer for every tenant, however it is spelled. */
function isEveryTenant(issuer: string): boolean {
  const url = URL.parse(issuer); // in lower case, without the port 443
  if (url === null || !ENTRA_HOST.test(url.hostname.replace(/\.$/, ''))) return false;
  const [tenant] = decoded(url.pathname)
    .split(/[/\\]/)
    .map((part) => part.trim())
    .filter((part) => part !== '');
  return EVERY_TENANT.has(tenant?.toLowerCase());
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path; // no server decodes it to another name
  }
}
