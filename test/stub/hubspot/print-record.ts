import type { StoredRecord } from './records.ts';

/** Returns a record as answers show it: all its properties, or the named ones and those that every answer has. */
export function printRecord(record: StoredRecord, properties?: readonly string[]): object {
  const shown = properties && [
    ...properties,
    ...['hs_object_id', 'createdate', 'lastmodifieddate', 'hs_createdate', 'hs_lastmodifieddate'].filter(
      (name) => record.properties[name] !== undefined,
    ),
  ];
  return {
    id: record.id,
    properties: shown
      ? Object.fromEntries(shown.map((name) => [name, record.properties[name] ?? null]))
      : record.properties,
    createdAt: record.createdAt,
    updatedAt: record.updatedAt,
    archived: false,
  };
}
