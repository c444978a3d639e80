import type { MappedColumn, MappedType } from '../../leads/mapped-fields.ts';
import { KEY, URL_FIELD } from './options.ts';
import { VERSION } from './salesforce-api.ts';

/** A custom Lead field that leadsync creates, in the form of the Metadata API. */
export interface CustomLeadField {
  readonly name: string;
  /** https://developer.salesforce.com/docs/atlas.en-us.api_meta.meta/api_meta/customfield.htm */
  readonly metadata: Readonly<Record<string, string | number | boolean>>;
}

const TEXT = { type: 'Text', length: 255 };
const LONG_TEXT = { type: 'LongTextArea', length: 32_768, visibleLines: 5 };

/** The types of the standard fields. Most are short texts, because reports cannot filter by a long text. */
const STANDARD: Readonly<Record<string, CustomLeadField['metadata']>> = {
  Leadsync_Service__c: TEXT,
  Leadsync_Source__c: TEXT,
  Leadsync_Email_As_Typed__c: TEXT,
  Leadsync_Answers__c: { ...LONG_TEXT, length: 131_072 },
};

const KINDS: Readonly<Record<MappedType, CustomLeadField['metadata']>> = {
  text: LONG_TEXT,
  json: LONG_TEXT,
  bigint: { type: 'Number', precision: 18, scale: 0 },
  double: { type: 'Number', precision: 18, scale: 6 },
  time: { type: 'DateTime' },
  boolean: { type: 'Checkbox', defaultValue: 'false' },
};

const KEY_METADATA = { type: 'Text', length: 80, externalId: true, unique: true, caseSensitive: true };

/** Returns the custom fields that deliveries with these fields of a mapping need. */
export function customFieldsFor(columns: readonly MappedColumn[]): readonly CustomLeadField[] {
  const ofMapping = columns.flatMap(({ name, type }) =>
    /^Leadsync_\w+__c$/.test(name) ? [ownField(name, STANDARD[name] ?? KINDS[type])] : [],
  );
  return [
    ownField(KEY, KEY_METADATA),
    ownField(URL_FIELD, { type: 'Url' }), // also for a `public_url` that is set later
    ...ofMapping,
  ];
}

/** The folder that the printed commands create: a project for `sf`, Salesforce's command line tool. */
const PROJECT = 'leadsync-salesforce';

/** Returns the shell command that writes a field into the project, in the source format of `sf`. */
export function fieldCommand({ name, metadata }: CustomLeadField): string {
  const lines = Object.entries(metadata).map(([key, value]) => `    <${key}>${value}</${key}>`);
  return fileCommand(
    'force-app/objects/Lead/fields',
    `${name}.field-meta.xml`,
    `<CustomField xmlns="http://soap.sforce.com/2006/04/metadata">
    <fullName>${name}</fullName>
${lines.join('\n')}
</CustomField>`,
  );
}

/**
 * Returns the shell commands that write a permission set for these fields into the project, deploy the project, and assign the permission set to
 * the user of the app.
 */
export function permissionSetCommands(set: string, fields: readonly string[]): string {
  const permissions = fields.map(
    (name) => `    <fieldPermissions>
        <editable>true</editable>
        <field>Lead.${name}</field>
        <readable>true</readable>
    </fieldPermissions>
`,
  );
  const file = fileCommand(
    'force-app/permissionsets',
    `${set}.permissionset-meta.xml`,
    `<PermissionSet xmlns="http://soap.sforce.com/2006/04/metadata">
${permissions.join('')}    <label>${set}</label>
</PermissionSet>`,
  );
  const project = {
    packageDirectories: [{ path: 'force-app', default: true }],
    sourceApiVersion: VERSION,
  };
  return `${file}${fileCommand('.', 'sfdx-project.json', JSON.stringify(project))}: "\${SALESFORCE_USER:?is the name of the user that the app runs as}"
cd ${PROJECT} &&
  sf project deploy start --source-dir force-app &&
  sf org assign permset --name ${set} --on-behalf-of "$SALESFORCE_USER"
`;
}

function fileCommand(folder: string, name: string, content: string): string {
  const path = folder === '.' ? PROJECT : `${PROJECT}/${folder}`;
  return `mkdir -p ${path}
cat > ${path}/${name} <<'END'
${content}
END
`;
}

function ownField(name: string, metadata: CustomLeadField['metadata']): CustomLeadField {
  const label = name.replace(/__c$/, '').replaceAll('_', ' ').replace('Leadsync', 'leadsync');
  return { name, metadata: { label, ...metadata } };
}
