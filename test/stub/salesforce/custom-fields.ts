import { type Answer, failed, notFound, notSaved, recordError } from './answer.ts';
import { type FieldType, field } from './field.ts';
import type { ObjectTable } from './object-table.ts';
import type { Org } from './org.ts';
import { isObject, methodNotAllowed, type RestRequest, readObject } from './request.ts';

/** The types of custom fields that the stub makes, by their name in the Metadata API. */
const TYPES: Readonly<Record<string, { readonly type: FieldType; readonly longest: number }>> = {
  Text: { type: 'string', longest: 255 },
  TextArea: { type: 'textarea', longest: 255 },
  LongTextArea: { type: 'textarea', longest: 131_072 },
  Email: { type: 'email', longest: 80 },
  Phone: { type: 'phone', longest: 40 },
  Url: { type: 'url', longest: 255 },
  Checkbox: { type: 'boolean', longest: 0 },
  Date: { type: 'date', longest: 0 },
  DateTime: { type: 'datetime', longest: 0 },
  Number: { type: 'double', longest: 0 },
  Picklist: { type: 'picklist', longest: 255 },
};

type Metadata = Readonly<Record<string, unknown>>;

/** Answers `tooling/sobjects/CustomField`: makes, reads and deletes custom fields. */
export function answerCustomFields(org: Org, request: RestRequest, id: string | undefined): Answer {
  if (id === undefined)
    return request.method === 'POST'
      ? makeField(org, request.body)
      : methodNotAllowed(request.method, 'POST');
  const record = org.customFields.get(id);
  const table = org.findTable(String(record?.['TableEnumOrId']));
  if (record === undefined || record.IsDeleted || table === undefined) return notFound();
  if (request.method === 'DELETE') {
    org.customFields.put({ ...record, IsDeleted: true });
    table.removeField(`${record['DeveloperName']}__c`);
    return { status: 204 };
  }
  if (request.method !== 'GET') return methodNotAllowed(request.method, 'GET, DELETE');
  return { status: 200, body: shownField(table, record.Id, String(record['DeveloperName'])) };
}

function shownField(table: ObjectTable, id: string, developerName: string) {
  const own = table.field(`${developerName}__c`);
  return {
    attributes: { type: 'CustomField', url: `/services/data/v67.0/tooling/sobjects/CustomField/${id}` },
    Id: id,
    DeveloperName: developerName,
    TableEnumOrId: table.definition.name,
    FullName: `${table.definition.name}.${developerName}__c`,
    Metadata: {
      label: own?.label,
      length: own?.length,
      externalId: own?.externalId,
      unique: own?.unique,
      caseSensitive: own?.caseSensitive,
    },
  };
}

function makeField(org: Org, text: string): Answer {
  const body = readObject(text);
  if (!('value' in body)) return body;
  const { FullName, Metadata } = body.value;
  const [, object = '', developerName = ''] = /^(\w+)\.(\w+)__c$/.exec(String(FullName)) ?? [];
  const table = org.findTable(object);
  if (table === undefined)
    return fieldError('INVALID_CROSS_REFERENCE_KEY', 'Entity ID: bad value', 'FullName');
  if (!isObject(Metadata))
    return fieldError('REQUIRED_FIELD_MISSING', 'Required fields are missing: [Metadata]', 'Metadata');
  const fault = faultOf(Metadata);
  if (fault !== undefined) return fieldError('FIELD_INTEGRITY_EXCEPTION', fault.message, fault.field);
  const name = `${developerName}__c`;
  if (table.field(name) !== undefined)
    return fieldError(
      'DUPLICATE_DEVELOPER_NAME',
      `There is already a field named ${developerName} on ${object}.`,
      'FullName',
    );
  const { type } = TYPES[String(Metadata['type'])] as { type: FieldType };
  table.putField(
    field(name, String(Metadata['label']), type, {
      ...(typeof Metadata['length'] === 'number' ? { length: Metadata['length'] } : {}),
      required: Metadata['required'] === true,
      unique: Metadata['unique'] === true,
      externalId: Metadata['externalId'] === true,
      caseSensitive: Metadata['caseSensitive'] === true,
      idLookup: Metadata['externalId'] === true,
      precision: Number(Metadata['precision'] ?? 0),
      scale: Number(Metadata['scale'] ?? 0),
    }),
  );
  const { Id } = org.customFields.insert({
    DeveloperName: developerName,
    TableEnumOrId: table.definition.name,
    NamespacePrefix: null,
  });
  return { status: 201, body: { id: Id, success: true, errors: [], warnings: [], infos: [] } };
}

function faultOf(metadata: Metadata): { readonly message: string; readonly field: string } | undefined {
  const type = TYPES[String(metadata['type'])];
  if (type === undefined) return { message: `Must specify a valid type: ${metadata['type']}`, field: 'type' };
  if (typeof metadata['label'] !== 'string') return { message: 'Must specify a label', field: 'label' };
  const length = metadata['length'];
  const needsLength = metadata['type'] === 'Text' || metadata['type'] === 'LongTextArea';
  if (needsLength && (typeof length !== 'number' || length < 1 || length > type.longest))
    return { message: `Must specify 'length' from 1 to ${type.longest}`, field: 'length' };
  const isKey = metadata['externalId'] === true || metadata['unique'] === true;
  if (isKey && !['Text', 'Number', 'Email'].includes(String(metadata['type'])))
    return {
      message: `Can not specify 'externalId' or 'unique' for a CustomField of type ${metadata['type']}`,
      field: 'externalId',
    };
  return undefined;
}

function fieldError(statusCode: string, message: string, name: string): Answer {
  return notSaved([recordError(statusCode, message, [name])]);
}

/** Returns the answer to a user who may not customize the application. */
export function mayNotCustomize(): Answer {
  return failed(403, 'INSUFFICIENT_ACCESS', 'insufficient access rights on entity: CustomField');
}
