import { field } from './field.ts';
import type { Org } from './org.ts';

/** The state of leadsync's key field: what `setup` makes of a fresh org, and what an administrator can make of it. */
export type KeyField = 'ready' | 'absent' | 'hidden' | 'read-only' | 'not-unique';

/** The name of leadsync's key field on leads. */
const NAME = 'Leadsync_Key__c';

/** Brings the key field of an org into this state. */
export function prepareKeyField(org: Org, state: KeyField): void {
  if (state === 'absent') return;
  org.table('Lead').putField(
    field(NAME, 'leadsync key', 'string', {
      length: 80,
      externalId: true,
      unique: state !== 'not-unique',
      caseSensitive: true,
      idLookup: true,
    }),
  );
  org.customFields.insert({ DeveloperName: 'Leadsync_Key', TableEnumOrId: 'Lead', NamespacePrefix: null });
  if (state !== 'hidden') showField(org, `Lead.${NAME}`, state === 'read-only' ? 'read' : 'edit');
}

/** Sets what the user may do with a custom field, `Lead.Leadsync_Key__c`, through a permission set of its own. */
export function showField(org: Org, name: string, access: 'edit' | 'read' | 'hidden'): void {
  const permissions = org.table('FieldPermissions');
  for (const { Id, Field } of permissions.all()) if (Field === name) permissions.forget(Id);
  if (access !== 'hidden') {
    const set = org.live('PermissionSet').find(({ Name }) => Name === 'Stub') ?? assignedSet(org);
    permissions.insert({
      ParentId: set.Id,
      SobjectType: name.split('.')[0] ?? '',
      Field: name,
      PermissionsRead: true,
      PermissionsEdit: access === 'edit',
    });
  }
  org.applyPermissions();
}

function assignedSet(org: Org) {
  const set = org.table('PermissionSet').insert({ Name: 'Stub', Label: 'Stub' });
  org.table('PermissionSetAssignment').insert({ PermissionSetId: set.Id, AssigneeId: org.userId });
  return set;
}
