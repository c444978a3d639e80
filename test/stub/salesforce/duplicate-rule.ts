import type { RecordError } from './answer.ts';
import type { FieldValue } from './field-value.ts';
import type { ObjectTable, StoredRecord } from './object-table.ts';
import type { Org } from './org.ts';

/** What the standard duplicate rule tells a person who may save all the same, and one who may not. */
const MESSAGE = 'Use one of these records?';

/** Returns the error of a lead that has the e-mail address of another lead or of a contact; undefined if there is none. */
export function findDuplicates(
  org: Org,
  leads: ObjectTable,
  values: Readonly<Record<string, FieldValue>>,
  existing: StoredRecord | undefined,
): RecordError | undefined {
  const email = values['Email'] ?? null;
  if (email === null || existing?.['Email'] === email) return undefined;
  const matchResults = [leads, org.table('Contact')].flatMap((table) => {
    const field = table.field('Email');
    const matches = field === undefined ? [] : table.find(field, email);
    const others = matches.filter(({ Id, IsDeleted }) => !IsDeleted && Id !== existing?.Id);
    return others.length === 0 ? [] : [matchResult(table.definition.name, others)];
  });
  if (matchResults.length === 0) return undefined;
  return {
    statusCode: 'DUPLICATES_DETECTED',
    message: MESSAGE,
    fields: [],
    duplicateResult: {
      allowSave: org.settings.duplicateRule === 'alert',
      duplicateRule: 'Standard_Lead_Duplicate_Rule',
      duplicateRuleEntityType: 'Lead',
      errorMessage: MESSAGE,
      matchResults,
    },
  };
}

function matchResult(type: string, records: readonly StoredRecord[]) {
  return {
    entityType: type,
    errors: [],
    matchEngine: 'FuzzyMatchEngine',
    matchRecords: records.map(({ Id }) => ({
      additionalInformation: [],
      fieldDiffs: [],
      matchConfidence: 100,
      record: { attributes: { type, url: `/services/data/v67.0/sobjects/${type}/${Id}` }, Id },
    })),
    rule: `Standard_${type}_Match_Rule_v1_1`,
    size: records.length,
    success: true,
  };
}
