import type { BatchLead } from './batch-leads.ts';

/** Which values of an existing record leadsync may write: none, only empty ones, or all. */
export type Overwrite = 'never' | 'empty' | 'always';

/**
 * Returns the values that leadsync may write to the existing record of a lead. If the batch delivers the lead as new again, leadsync at most fills
 * empty values, because people may have edited the record since.
 */
export function overwriteOf({ mayCreate }: Pick<BatchLead, 'mayCreate'>, overwrite: Overwrite): Overwrite {
  return mayCreate && overwrite === 'always' ? 'empty' : overwrite;
}

/** Returns those of the wanted values that must be written to an existing record. */
export function changesOf<Value extends string | number | boolean>(
  existing: Readonly<Record<string, unknown>>,
  wanted: Readonly<Record<string, Value>>,
  overwrite: Overwrite,
): Readonly<Record<string, Value>> {
  if (overwrite === 'never') return {};
  const changes = Object.entries(wanted).filter(([name, value]) => {
    const held = existing[name];
    const isEmpty = held === undefined || held === null || held === '';
    return overwrite === 'always' ? held !== value : isEmpty;
  });
  return Object.fromEntries(changes);
}
