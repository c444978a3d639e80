import { isPersonName } from '../platform/options/role.ts';
import { type Identity, LoginFailed } from './contract.ts';
import type { OidcOptions } from './options.ts';

/** Maximum number of groups that leadsync keeps for a person. */
const MAX_GROUPS = 500;
/** Maximum length of a group's name, in characters. A group with a longer name is ignored. */
const MAX_GROUP_LENGTH = 200;

/** Maximum length of a subject, in characters (OpenID Connect Core, section 2). */
const MAX_SUBJECT_LENGTH = 255;

/** Claims about a person (OpenID Connect Core, section 5.1). */
export type Claims = Readonly<Record<string, unknown>>;

type ClaimNames = Pick<OidcOptions, 'name_claim' | 'groups_claim' | 'group_roles'>;

/**
 * Whether the ID token lacks a claim that the UserInfo endpoint may have: the name, `email_verified` if the name is the email address, or the
 * groups if they decide about roles.
 */
export function lacksClaims(claims: Claims, { name_claim, groups_claim, group_roles }: ClaimNames): boolean {
  if (claims[name_claim] === undefined) return true;
  if (name_claim === 'email' && claims['email_verified'] === undefined) return true;
  return Object.keys(group_roles).length > 0 && claims[groups_claim] === undefined;
}

/**
 * Merges the claims of the ID token and of UserInfo; the ID token takes precedence. If the name is the email address, a statement in either that
 * the address is not verified takes precedence, and UserInfo cannot confirm the address if it names another one.
 */
export function withUserInfo(
  claims: Claims,
  more: Claims,
  { name_claim }: Pick<ClaimNames, 'name_claim'>,
): Claims {
  const all = { ...more, ...claims };
  if (name_claim !== 'email' || more['email_verified'] === undefined) return all;
  if (!isVerified(more['email_verified'])) return { ...all, email_verified: false };
  const isSame = more['email'] === undefined || more['email'] === all['email'];
  return isSame ? all : { ...all, email_verified: claims['email_verified'] };
}

/**
 * Returns the person that the claims name. @throws LoginFailed if there is no usable name, or if the name is an email address that is not
 * verified
 */
export function readIdentity(
  claims: Claims,
  { name_claim, groups_claim }: ClaimNames,
): Omit<Identity, 'idToken'> {
  const name = claims[name_claim];
  if (typeof name !== 'string' || !isPersonName(name))
    throw new LoginFailed(
      'person',
      `The login provider does not say who you are: the claim ${name_claim} is missing, or is not a name of 1 to 200 ASCII characters.`,
      'In admin.oidc, set name_claim to a claim that the provider sends, or set scopes so that it sends this one.',
    );
  if (
    name_claim === 'email' &&
    claims['email_verified'] !== undefined &&
    !isVerified(claims['email_verified'])
  )
    throw new LoginFailed(
      'person',
      'The login provider says that your email address is not verified, so leadsync does not accept it.',
      'Verify the address at the provider, then log in again.',
    );
  const subject = String(claims['sub']).slice(0, MAX_SUBJECT_LENGTH);
  return { name, subject, groups: groupsIn(claims[groups_claim]) };
}

/** Whether the provider says that an address is verified. Some providers send booleans as text. */
function isVerified(claim: unknown): boolean {
  return claim === true || claim === 'true';
}

/** Returns the groups in a claim, which is a list of names or, with some providers, a single name. */
function groupsIn(claim: unknown): readonly string[] {
  return [claim]
    .flat()
    .filter((group) => typeof group === 'string' && group !== '' && group.length <= MAX_GROUP_LENGTH)
    .slice(0, MAX_GROUPS) as string[];
}
