import { includesRole, type Role } from '../../platform/options/role.ts';
import { type Actor, actor } from './actor.ts';
import type { Operations } from './operations.ts';
import { RequestError } from './request-error.ts';

/**
 * The minimum role for each operation. The gate checks it for each route, pages offer only what their reader may do, and the API description
 * names it. If an operation is missing here, the code does not compile.
 */
const NEEDED_ROLES = {
  overview: 'viewer',
  leads: 'viewer',
  lead: 'viewer',
  deliveries: 'viewer',
  countLeads: 'viewer',
  services: 'viewer',
  countDeliveries: 'viewer',
  failureReasons: 'viewer',
  countPolls: 'viewer',
  countRejected: 'viewer',
  sinks: 'viewer',
  sink: 'viewer',
  polls: 'viewer',
  log: 'viewer',
  alerts: 'viewer',
  rejected: 'viewer',
  expressionLanguage: 'viewer',
  /** Metrics for Prometheus. */
  metrics: 'viewer',
  /** Bull Board, which is read-only and shows no personal data. */
  queues: 'viewer',
  /** The description of the API. */
  description: 'viewer',
  reveal: 'operator',
  revealRejected: 'operator',
  findLeads: 'operator',
  previews: 'operator',
  tryExpression: 'operator',
  retry: 'operator',
  retriable: 'operator',
  discard: 'operator',
  discardable: 'operator',
  replayable: 'operator',
  replayAll: 'operator',
  cancelReplays: 'operator',
  cancellable: 'operator',
  replay: 'operator',
  pause: 'operator',
  resume: 'operator',
  test: 'operator',
  poll: 'operator',
  previewExport: 'operator',
  runExport: 'operator',
  audit: 'admin',
  countAudit: 'admin',
  configuration: 'admin',
  previewReload: 'admin',
  reload: 'admin',
} as const satisfies Record<keyof Operations | 'metrics' | 'queues' | 'description', Role>;

/** Name of an operation that a role may or may not run. */
export type OperationName = keyof typeof NEEDED_ROLES;

/** The names of all operations, in the order of their roles. */
export const OPERATION_NAMES = Object.keys(NEEDED_ROLES) as readonly OperationName[];

/** Returns the minimum role that may run an operation. */
export function neededRole(operation: OperationName): Role {
  return NEEDED_ROLES[operation];
}

/** Whether the client of the request that is being handled may run an operation. */
export function may(operation: OperationName): boolean {
  return isAllowed(actor.getStore(), operation);
}

/** Whether a client may run an operation. */
export function isAllowed(client: Actor | undefined, operation: OperationName): boolean {
  return client !== undefined && includesRole(client.role, neededRole(operation));
}

/** A person who is logged in but has no role in leadsync. */
export interface PersonWithoutRole {
  readonly who: string;
  /** What logged the person in: a trusted proxy or an OpenID provider. */
  readonly via: 'proxy' | 'oidc';
}

/** Returns the error for a person who is logged in but has no role in leadsync. */
export function noRole({ who, via }: PersonWithoutRole): RequestError {
  if (via === 'proxy')
    return new RequestError(
      403,
      'role',
      `${who} has no role: admin.trusted_header in leadsync's configuration gives none.`,
      '',
    );
  return new RequestError(
    403,
    'no-role',
    `You are logged in as ${who}, but \`admin.oidc\` in leadsync's configuration gives you no role.`,
    `An administrator can add \`${yamlKey(who)}: viewer\` under \`admin.oidc.roles\` in the configuration, or one of your groups under \`group_roles\`. A change to your groups takes effect at the next login.`,
  );
}

/** Returns the text as a YAML key. */
function yamlKey(text: string): string {
  return /^[a-z][\w.@+-]*$/i.test(text) ? text : JSON.stringify(text);
}

/** Returns the error for a client whose role may not run an operation. */
export function notAllowed({ who, role }: Actor, operation: OperationName): RequestError {
  const message = `This needs the role ${neededRole(operation)}, and ${who} has the role ${role}.`;
  return new RequestError(403, 'role', message, '');
}
