import type { Account } from './account.ts';
import type { ObjectName } from './object-types.ts';
import type { StoredRecord } from './records.ts';
import { normalised } from './writes.ts';

/** Returns the record that a request means by an id, or by the value of a unique property. */
export function findRecord(
  account: Account,
  object: ObjectName,
  id: string,
  idProperty: string | undefined,
  findsSecondaryEmail = true,
): StoredRecord | undefined {
  const records = account.records[object];
  if (idProperty === undefined) return records.byId(id);
  if (idProperty === 'hs_additional_emails') return records.byUnique('email', id.toLowerCase());
  const value = normalised(idProperty, id);
  const record = records.byUnique(idProperty, value);
  const isSecondary = idProperty === 'email' && record?.properties['email'] !== value;
  return isSecondary && !findsSecondaryEmail ? undefined : record;
}
