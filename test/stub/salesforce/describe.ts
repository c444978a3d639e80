import type { Answer } from './answer.ts';
import type { Field, FieldType } from './field.ts';
import type { ObjectTable } from './object-table.ts';
import type { Org } from './org.ts';

/** Returns the list of objects. */
export function describeOrg(org: Org): Answer {
  const shown = org.tables.filter(({ definition }) => org.findTable(definition.name));
  const sobjects = shown.map((table) => objectFacts(org, table));
  return { status: 200, body: { encoding: 'UTF-8', maxBatchSize: 200, sobjects } };
}

/** Returns what `describe` shows of an object: the fields that the user may see. */
export function describeObject(org: Org, table: ObjectTable): Answer {
  const fields = org.visibleFields(table).map((field) => fieldFacts(org, table, field));
  return {
    status: 200,
    body: { ...objectFacts(org, table), fields, childRelationships: [], recordTypeInfos: [] },
  };
}

function objectFacts(org: Org, table: ObjectTable) {
  const { name, label, keyPrefix } = table.definition;
  const mayWrite = org.mayWrite(table);
  return {
    name,
    label,
    labelPlural: `${label}s`,
    keyPrefix,
    custom: false,
    createable: mayWrite,
    updateable: mayWrite,
    deletable: mayWrite && org.settings.mayDelete,
    queryable: true,
    retrieveable: true,
    undeletable: true,
    urls: { sobject: `/services/data/v67.0/sobjects/${name}` },
  };
}

function fieldFacts(org: Org, table: ObjectTable, field: Field) {
  const isEditable = org.mayWrite(table) && org.isEditable(table, field);
  return {
    name: field.name,
    label: field.label,
    type: field.type,
    soapType: SOAP_TYPES[field.type] ?? 'xsd:string',
    length: field.length,
    byteLength: field.length * 3,
    digits: field.type === 'int' ? field.precision : 0,
    precision: field.type === 'int' ? 0 : field.precision,
    scale: field.scale,
    nillable: !field.required && field.type !== 'boolean' && field.createable,
    defaultedOnCreate: field.type === 'boolean' || ['OwnerId', 'Status'].includes(field.name),
    createable: field.createable && isEditable,
    updateable: field.updateable && isEditable,
    filterable: field.length <= 255,
    custom: field.custom,
    externalId: field.externalId,
    idLookup: field.idLookup || field.externalId,
    unique: field.unique,
    caseSensitive: field.caseSensitive,
    restrictedPicklist: field.restricted,
    picklistValues: field.values.map((value) => ({
      active: true,
      defaultValue: false,
      label: value,
      validFor: null,
      value,
    })),
    referenceTo: field.type === 'reference' ? ['User'] : [],
  };
}

const SOAP_TYPES: Partial<Record<FieldType, string>> = {
  id: 'tns:ID',
  boolean: 'xsd:boolean',
  int: 'xsd:int',
  double: 'xsd:double',
  date: 'xsd:date',
  datetime: 'xsd:dateTime',
  reference: 'tns:ID',
};
