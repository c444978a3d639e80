import type { Secret } from './secret.ts';

/**
 * What a person or a program may do through the pages and the API, each role including the ones before it. A viewer sees states, numbers and lists
 * without personal data. An operator also acts, and reads personal data. An admin also manages the configuration, and reads the audit log.
 */
export const ROLES = ['viewer', 'operator', 'admin'] as const;

/** A role. */
export type Role = (typeof ROLES)[number];

/** Whether a role includes another one. */
export function includesRole(role: Role, other: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(other);
}

/** A token, the person or program that has it, and what it may do. */
export interface NamedToken {
  readonly name: string;
  readonly role: Role;
  readonly token: Secret;
}

/** A header in which a trusted proxy names a person, and the roles of these people. */
export interface TrustedHeader {
  readonly name: string;
  readonly roles: ReadonlyMap<string, Role>;
  /** The role of everyone else; undefined if they may do nothing. */
  readonly defaultRole: Role | undefined;
}

/** The roles of people who log in through an OpenID provider. */
export interface PersonRoles {
  readonly roles: ReadonlyMap<string, Role>;
  /** The roles of the members of groups. */
  readonly groupRoles: ReadonlyMap<string, Role>;
  /** The role of everyone else; undefined if they may do nothing. */
  readonly defaultRole: Role | undefined;
}

/**
 * Returns the role of a person: that of their name, otherwise the highest of their groups, otherwise that of everyone else. Undefined if they
 * have none. Compares names exactly.
 */
export function roleOf(
  { roles, groupRoles, defaultRole }: PersonRoles,
  { name, groups }: { readonly name: string; readonly groups: readonly string[] },
): Role | undefined {
  const ofGroups = groups.map((group) => groupRoles.get(group));
  return roles.get(name) ?? ROLES.findLast((role) => ofGroups.includes(role)) ?? defaultRole;
}

/** Whether the text can be the name of a person, such as a user name or an email address: 1 to 200 printable ASCII characters. */
export function isPersonName(text: string): boolean {
  return /^[\x21-\x7e](?:[\x20-\x7e]{0,198}[\x21-\x7e])?$/.test(text);
}
