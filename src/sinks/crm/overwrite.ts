import type { BatchLead } from './batch-leads.ts';

/** Whether an update of a record may replace what people wrote: never anything, only what is empty, or everything. */
export type Overwrite = 'never' | 'empty' | 'always';

/**
 * Returns what may be replaced in the record of a lead that the CRM has already. A lead that comes again as created fills gaps at most, because
 * people may have worked on its record since.
 */
export function overwriteOf({ mayCreate }: Pick<BatchLead, 'mayCreate'>, overwrite: Overwrite): Overwrite {
  return mayCreate && overwrite === 'always' ? 'empty' : overwrite;
}

/** Returns those of the wanted values that an existing record has to get. */
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
