import type { MappedColumn } from '../../leads/mapped-fields.ts';
import type { MissingPart } from '../destination-parts.ts';
import { type Answer, withoutLease } from '../http/api-server.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import {
  type CustomLeadField,
  customFieldsFor,
  fieldCommand,
  permissionSetCommands,
} from './custom-fields.ts';
import { withoutPermission } from './judge-answer.ts';
import type { LeadFields } from './lead-fields.ts';
import { KEY } from './options.ts';
import { readErrors } from './read-answer.ts';
import { API, type Limits, type SalesforceApi } from './salesforce-api.ts';

/** The permission set that lets the user of the app write leadsync's fields. */
const PERMISSION_SET = 'leadsync';
/** What the user of the app needs to create fields and permission sets. */
const ADMINISTER =
  'Give the user of the app the permissions Customize Application, and Manage Profiles and Permission Sets.';

/**
 * Returns the parts that deliveries need and an org lacks: custom fields, and a permission set. Salesforce hides a field from a user without
 * permission for it, so that the field seems not to exist.
 * @throws SinkUnavailable
 */
export async function missingInOrg(
  api: SalesforceApi,
  { columns, limits }: { readonly columns: readonly MappedColumn[]; readonly limits: Limits },
): Promise<readonly MissingPart[]> {
  const fields = await api.fields(limits, true);
  requireUsable(fields, api.addressee.origin);
  const own = customFieldsFor(columns);
  const lacking = own.filter(({ name }) => !fields.canWrite(name));
  if (lacking.length === 0) return [];
  const hidden = await hiddenFields(api, limits);
  const absent = lacking.filter(({ name }) => fields.get(name) === undefined && !hidden.has(name));
  return [...absent.map((field) => fieldPart(api, field)), permissionPart(api, lacking, own)];
}

/** Verifies that the user may write leads, and that the key field, if the user can see it, can hold the key. @throws SinkUnavailable */
export function requireUsable(fields: LeadFields, origin: string): void {
  if (!fields.mayWrite) throw withoutPermission(origin, true);
  const key = fields.get(KEY);
  if (key === undefined || key.isKey) return;
  throw new SinkUnavailable(`The field \`${KEY}\` of leads in Salesforce at ${origin} cannot be a key.`, {
    hint: 'Mark it in Setup, Object Manager, Lead as an external ID, and as unique and case sensitive.',
    unsent: true,
  });
}

/**
 * Returns the names of the custom Lead fields that exist, including those that the user cannot see. Returns an empty set if the user may not see
 * the setup of the org.
 */
async function hiddenFields(api: SalesforceApi, limits: Limits): Promise<ReadonlySet<string>> {
  const soql = "SELECT DeveloperName FROM CustomField WHERE TableEnumOrId = 'Lead'";
  const names = new Set<string>();
  try {
    for await (const page of api.query(soql, limits, 'tooling/query'))
      for (const { DeveloperName } of page) names.add(`${String(DeveloperName)}__c`);
  } catch (error) {
    // The user may not see the setup of the org. An administrator then creates the parts, or finds that they exist.
    if (!(error instanceof SinkUnavailable) || !/^(400|403)$/.test(String(error.httpStatus))) throw error;
  }
  return names;
}

function fieldPart(api: SalesforceApi, field: CustomLeadField): MissingPart {
  const { name, metadata } = field;
  const kind = [metadata['type'], ...(metadata['unique'] === true ? ['external ID', 'unique'] : [])].join(
    ', ',
  );
  return {
    what: `field \`${name}\` of Lead (${kind})`,
    how: fieldCommand(field),
    make: async (stop) => {
      const body = { FullName: `Lead.${name}`, Metadata: metadata };
      const path = `${API}/tooling/sobjects/CustomField`;
      await api.ask({ path, body }, withoutLease(stop), {
        isExpected: (answer) => hasCode(answer, 'DUPLICATE_DEVELOPER_NAME'),
        permit: ADMINISTER,
      });
    },
  };
}

/**
 * Returns the missing part for the permission set. Its file replaces the whole permission set, so it lists all of leadsync's fields, not only
 * those without permission.
 */
function permissionPart(
  api: SalesforceApi,
  lacking: readonly CustomLeadField[],
  own: readonly CustomLeadField[],
): MissingPart {
  const names = lacking.map(({ name }) => name);
  const all = own.map(({ name }) => name);
  return {
    what: `permission to write ${names.map((name) => `\`${name}\``).join(', ')} (permission set \`${PERMISSION_SET}\`)`,
    how: permissionSetCommands(PERMISSION_SET, all),
    make: async (stop) => {
      const limits = withoutLease(stop);
      const set =
        (await idOf(api, `SELECT Id FROM PermissionSet WHERE Name = '${PERMISSION_SET}'`, limits)) ??
        (await create(api, 'PermissionSet', { Name: PERMISSION_SET, Label: PERMISSION_SET }, limits));
      for (const name of names) await permit(api, set, `Lead.${name}`, limits);
      const user = await api.userId(limits);
      const assigned = `SELECT Id FROM PermissionSetAssignment WHERE PermissionSetId = '${set}' AND AssigneeId = '${user}'`;
      if ((await idOf(api, assigned, limits)) === undefined)
        await create(api, 'PermissionSetAssignment', { PermissionSetId: set, AssigneeId: user }, limits);
    },
  };
}

async function permit(api: SalesforceApi, set: string, field: string, limits: Limits): Promise<void> {
  const found = await idOf(
    api,
    `SELECT Id FROM FieldPermissions WHERE ParentId = '${set}' AND Field = '${field}'`,
    limits,
  );
  const access = { PermissionsRead: true, PermissionsEdit: true };
  if (found === undefined)
    await create(
      api,
      'FieldPermissions',
      { ParentId: set, SobjectType: 'Lead', Field: field, ...access },
      limits,
    );
  else
    await api.ask(
      { method: 'PATCH', path: `${API}/sobjects/FieldPermissions/${found}`, body: access },
      limits,
      { permit: ADMINISTER },
    );
}

async function create(api: SalesforceApi, object: string, body: object, limits: Limits): Promise<string> {
  const path = `${API}/sobjects/${object}`;
  const { id } = (await api.ask({ path, body }, limits, { permit: ADMINISTER })) ?? {};
  return String(id);
}

/** Returns the id of the first record of a query; undefined if there is none. */
async function idOf(api: SalesforceApi, soql: string, limits: Limits): Promise<string | undefined> {
  for await (const [first] of api.query(soql, limits))
    return first === undefined ? undefined : String(first['Id']);
  return undefined;
}

function hasCode(answer: Answer, code: string): boolean {
  return readErrors(answer).some((error) => error.code === code);
}
