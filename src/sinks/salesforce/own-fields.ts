import type { MappedColumn, MappedType } from '../../leads/mapped-fields.ts';
import { KEY, URL_FIELD } from './options.ts';

/** A custom field of leads that leadsync makes, as the Metadata API has it. */
export interface OwnField {
  readonly name: string;
  /** https://developer.salesforce.com/docs/atlas.en-us.api_meta.meta/api_meta/customfield.htm */
  readonly metadata: Readonly<Record<string, string | number | boolean>>;
}

const TEXT = { type: 'Text', length: 255 };
const LONG_TEXT = { type: 'LongTextArea', length: 32_768, visibleLines: 5 };

/** The types of the standard fields; reports cannot filter by a long text. */
const STANDARD: Readonly<Record<string, OwnField['metadata']>> = {
  Leadsync_Service__c: TEXT,
  Leadsync_Source__c: TEXT,
  Leadsync_Email_As_Typed__c: TEXT,
  Leadsync_Answers__c: { ...LONG_TEXT, length: 131_072 },
};

const KINDS: Readonly<Record<MappedType, OwnField['metadata']>> = {
  text: LONG_TEXT,
  json: LONG_TEXT,
  bigint: { type: 'Number', precision: 18, scale: 0 },
  double: { type: 'Number', precision: 18, scale: 6 },
  time: { type: 'DateTime' },
  boolean: { type: 'Checkbox', defaultValue: 'false' },
};

const KEY_METADATA = { type: 'Text', length: 80, externalId: true, unique: true, caseSensitive: true };

/** Returns the custom fields that deliveries with these fields of a mapping need. `hasPages`: whether leads have an address of their own. */
export function ownFields(columns: readonly MappedColumn[], hasPages: boolean): readonly OwnField[] {
  const ofMapping = columns.flatMap(({ name, type }) =>
    /^Leadsync_\w+__c$/.test(name) ? [ownField(name, STANDARD[name] ?? KINDS[type])] : [],
  );
  return [
    ownField(KEY, KEY_METADATA),
    ...(hasPages ? [ownField(URL_FIELD, { type: 'Url' })] : []),
    ...ofMapping,
  ];
}

/** Returns a field as a file for `sf project deploy`. */
export function fieldFile({ name, metadata }: OwnField): string {
  const lines = Object.entries(metadata).map(([key, value]) => `    <${key}>${value}</${key}>`);
  return `<!-- objects/Lead/fields/${name}.field-meta.xml -->
<CustomField xmlns="http://soap.sforce.com/2006/04/metadata">
    <fullName>${name}</fullName>
${lines.join('\n')}
</CustomField>

`;
}

/** Returns the permission set that lets a user write fields, as a file for \`sf project deploy\`. */
export function permissionSetFile(set: string, fields: readonly string[]): string {
  const permissions = fields.map(
    (name) => `    <fieldPermissions>
        <editable>true</editable>
        <field>Lead.${name}</field>
        <readable>true</readable>
    </fieldPermissions>
`,
  );
  return `<!-- permissionsets/${set}.permissionset-meta.xml; assign it to the user that the app runs as -->
<PermissionSet xmlns="http://soap.sforce.com/2006/04/metadata">
${permissions.join('')}    <label>${set}</label>
</PermissionSet>

`;
}

function ownField(name: string, metadata: OwnField['metadata']): OwnField {
  const label = name.replace(/__c$/, '').replaceAll('_', ' ').replace('Leadsync', 'leadsync');
  return { name, metadata: { label, ...metadata } };
}
