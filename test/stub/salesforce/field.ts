/** The types of fields that the stub has. */
export type FieldType =
  | 'id'
  | 'string'
  | 'textarea'
  | 'email'
  | 'phone'
  | 'url'
  | 'picklist'
  | 'boolean'
  | 'int'
  | 'double'
  | 'date'
  | 'datetime'
  | 'reference';

/** A field of an object, as `describe` shows it. */
export interface Field {
  readonly name: string;
  readonly label: string;
  readonly type: FieldType;
  /** Maximum characters of a text; 0 for other types. */
  readonly length: number;
  /** Whether a record must have a value. */
  readonly required: boolean;
  readonly createable: boolean;
  readonly updateable: boolean;
  readonly unique: boolean;
  readonly externalId: boolean;
  readonly caseSensitive: boolean;
  /** Whether a record can be looked up by this field. */
  readonly idLookup: boolean;
  readonly custom: boolean;
  /** The values of a picklist. */
  readonly values: readonly string[];
  /** Whether a picklist accepts its own values alone. */
  readonly restricted: boolean;
  /** Digits before the decimal point, and after it, of a number. */
  readonly precision: number;
  readonly scale: number;
}

/** Returns a field; what is not given is that of a plain optional field. */
export function field(
  name: string,
  label: string,
  type: FieldType,
  more: Partial<Omit<Field, 'name' | 'label' | 'type'>> = {},
): Field {
  return {
    name,
    label,
    type,
    length: LENGTHS[type] ?? 0,
    required: false,
    createable: true,
    updateable: true,
    unique: false,
    externalId: false,
    caseSensitive: false,
    idLookup: type === 'id' || type === 'email',
    custom: name.endsWith('__c'),
    values: [],
    restricted: false,
    precision: 0,
    scale: 0,
    ...more,
  };
}

const LENGTHS: Partial<Record<FieldType, number>> = {
  id: 18,
  string: 255,
  textarea: 255,
  email: 80,
  phone: 40,
  url: 255,
  picklist: 255,
  reference: 18,
};

/** An object of an org. */
export interface ObjectDefinition {
  readonly name: string;
  readonly label: string;
  /** The first three characters of its records' ids. */
  readonly keyPrefix: string;
  readonly fields: readonly Field[];
}

const SET_BY_SALESFORCE = { createable: false, updateable: false } as const;

/** The fields that every object has. */
const systemFields: readonly Field[] = [
  field('Id', 'Record ID', 'id', SET_BY_SALESFORCE),
  field('IsDeleted', 'Deleted', 'boolean', SET_BY_SALESFORCE),
  field('CreatedDate', 'Created Date', 'datetime', SET_BY_SALESFORCE),
  field('LastModifiedDate', 'Last Modified Date', 'datetime', SET_BY_SALESFORCE),
  field('SystemModstamp', 'System Modstamp', 'datetime', SET_BY_SALESFORCE),
];

function object(name: string, label: string, keyPrefix: string, fields: readonly Field[]): ObjectDefinition {
  return { name, label, keyPrefix, fields: [...systemFields, ...fields] };
}

const REQUIRED = { required: true } as const;

/** The standard objects of the stub, with the lengths of the Object Reference. */
export const standardObjects: readonly ObjectDefinition[] = [
  object('Lead', 'Lead', '00Q', [
    field('LastName', 'Last Name', 'string', { length: 80, ...REQUIRED }),
    field('FirstName', 'First Name', 'string', { length: 40 }),
    field('Salutation', 'Salutation', 'picklist', { length: 40, values: ['Mr.', 'Ms.', 'Mrs.', 'Dr.'] }),
    field('Name', 'Full Name', 'string', { length: 121, ...SET_BY_SALESFORCE }),
    field('Title', 'Title', 'string', { length: 128 }),
    field('Company', 'Company', 'string', REQUIRED),
    field('Street', 'Street', 'textarea'),
    field('City', 'City', 'string', { length: 40 }),
    field('State', 'State/Province', 'string', { length: 80 }),
    field('PostalCode', 'Zip/Postal Code', 'string', { length: 20 }),
    field('Country', 'Country', 'string', { length: 80 }),
    field('Phone', 'Phone', 'phone'),
    field('MobilePhone', 'Mobile Phone', 'phone'),
    field('Email', 'Email', 'email'),
    field('Website', 'Website', 'url'),
    field('Description', 'Description', 'textarea', { length: 32_000 }),
    field('LeadSource', 'Lead Source', 'picklist', {
      values: ['Web', 'Phone Inquiry', 'Partner Referral', 'Purchased List', 'Other'],
    }),
    field('Status', 'Status', 'picklist', {
      values: ['Open - Not Contacted', 'Working - Contacted', 'Closed - Converted', 'Closed - Not Converted'],
    }),
    field('Rating', 'Rating', 'picklist', { values: ['Hot', 'Warm', 'Cold'] }),
    field('AnnualRevenue', 'Annual Revenue', 'double', { precision: 18 }),
    field('NumberOfEmployees', 'Employees', 'int', { precision: 8 }),
    field('HasOptedOutOfEmail', 'Email Opt Out', 'boolean'),
    field('OwnerId', 'Owner ID', 'reference'),
    field('IsConverted', 'Converted', 'boolean', SET_BY_SALESFORCE),
    field('ConvertedContactId', 'Converted Contact ID', 'reference', SET_BY_SALESFORCE),
  ]),
  object('Contact', 'Contact', '003', [
    field('LastName', 'Last Name', 'string', { length: 80, ...REQUIRED }),
    field('FirstName', 'First Name', 'string', { length: 40 }),
    field('Email', 'Email', 'email'),
    field('Phone', 'Phone', 'phone'),
  ]),
  object('Account', 'Account', '001', [field('Name', 'Account Name', 'string', REQUIRED)]),
  object('User', 'User', '005', [
    field('Username', 'Username', 'string', { length: 80, ...REQUIRED }),
    field('Email', 'Email', 'email'),
    field('IsActive', 'Active', 'boolean'),
  ]),
  object('Organization', 'Organization', '00D', [
    field('Name', 'Name', 'string', { length: 80 }),
    field('OrganizationType', 'Edition', 'string', { length: 40 }),
    field('IsSandbox', 'Is Sandbox', 'boolean', SET_BY_SALESFORCE),
  ]),
  object('PermissionSet', 'Permission Set', '0PS', [
    field('Name', 'Permission Set Name', 'string', { length: 80, ...REQUIRED }),
    field('Label', 'Permission Set Label', 'string', { length: 80, ...REQUIRED }),
    field('Description', 'Description', 'string'),
  ]),
  object('FieldPermissions', 'Field Permissions', '01k', [
    field('ParentId', 'Parent ID', 'reference', REQUIRED),
    field('SobjectType', 'Sobject Type Name', 'picklist', { length: 40, ...REQUIRED }),
    field('Field', 'Field Name', 'picklist', { length: 240, ...REQUIRED }),
    field('PermissionsRead', 'Read Field', 'boolean'),
    field('PermissionsEdit', 'Edit Field', 'boolean'),
  ]),
  object('PermissionSetAssignment', 'Permission Set Assignment', '0Pa', [
    field('PermissionSetId', 'PermissionSet ID', 'reference', REQUIRED),
    field('AssigneeId', 'Assignee ID', 'reference', REQUIRED),
  ]),
];

/** The object of the Tooling API whose records are custom fields. */
export const customFieldObject: ObjectDefinition = object('CustomField', 'Custom Field', '00N', [
  field('DeveloperName', 'Developer Name', 'string', { length: 80 }),
  field('TableEnumOrId', 'Table Enum or ID', 'picklist', { length: 40 }),
  field('NamespacePrefix', 'Namespace Prefix', 'string', { length: 15 }),
]);
