import type { RecordError } from './answer.ts';
import { customFieldObject, type Field, standardObjects } from './field.ts';
import { ObjectTable, type StoredRecord } from './object-table.ts';

/** What an administrator may change at any time. Tests set it while the stub runs. */
export interface OrgSettings {
  /** The duplicate rule of leads, which matches leads and contacts by e-mail address. */
  duplicateRule: 'off' | 'alert' | 'block';
  /** A validation rule of leads: its condition, its message, and the field that shows the message. */
  validationRule: ValidationRule | undefined;
  /** A trigger or flow of leads: returns the error with which it stops a lead, or undefined. */
  trigger: ((lead: LeadValues) => RecordError | undefined) | undefined;
  /** The active assignment rule of leads: gives each new lead to the next of these users. */
  assignmentRule: { readonly id: string; readonly owners: readonly string[] } | undefined;
  /** Values of external ids whose records another transaction has locked. */
  readonly locked: Set<string>;
  /** Values of external ids that another request stores first: an upsert does not see the record, and collides with it. */
  readonly raced: Set<string>;
  /** Ids of records that the user of the app may not see, because they belong to another user. */
  readonly unseen: Set<string>;
  storageFull: boolean;
  /** Whether the org is under maintenance: it can be read, but not written. */
  readOnlyMode: boolean;
  /** What the user of the app may do with leads. */
  leadAccess: 'edit' | 'read' | 'none';
  /** Whether that user may delete leads, if it may edit them. */
  mayDelete: boolean;
  /** Whether that user may create custom fields. */
  mayCustomize: boolean;
  /** Whether that user may make permission sets, fill them and assign them. */
  mayManagePermissions: boolean;
  /** Whether the app has a user to run as. */
  hasRunAsUser: boolean;
  /** The states that leads accept, if state and country picklists are on. */
  states: readonly string[] | undefined;
}

/** The fields of a lead by name, as they would be stored. */
export type LeadValues = Readonly<Record<string, string | number | boolean | null>>;

/** A validation rule. */
export interface ValidationRule {
  readonly message: string;
  readonly field?: string;
  refuses(lead: LeadValues): boolean;
}

/**
 * What Salesforce's documents leave open or tell in two ways. A client has to understand each value; the first is the default.
 */
export interface OpenQuestions {
  /** The error of each record whose key stands twice in one request: Apex and Bulk API say the first. */
  readonly sameKeyTwice: 'DUPLICATE_VALUE' | 'DUPLICATE_EXTERNAL_ID';
  /** Whether sObject Collections name the records that a duplicate rule matched: the printed example has no `duplicateResult`. */
  readonly collectionDuplicates: 'unnamed' | 'named';
  /** Whether an unknown field or a value of a wrong type fails its record or the whole request of sObject Collections. */
  readonly unreadableRecord: 'record' | 'request';
  /** What an upsert by the key of a record in the recycle bin does. */
  readonly deletedKey: 'creates' | 'ENTITY_IS_DELETED';
  /** How sObject Collections answer where the key field does not exist: 404 NOT_FOUND, or 400 INVALID_FIELD. */
  readonly absentKeyField: 404 | 400;
}

/** The names by which the stub's organization, user and version are known. */
export interface OrgNames {
  readonly organizationId: string;
  readonly userId: string;
}

/** An org: its objects, its settings, and who may see what. */
export class Org implements OrgNames {
  readonly settings: OrgSettings = {
    duplicateRule: 'off',
    validationRule: undefined,
    trigger: undefined,
    assignmentRule: undefined,
    locked: new Set(),
    raced: new Set(),
    unseen: new Set(),
    storageFull: false,
    readOnlyMode: false,
    leadAccess: 'edit',
    mayDelete: true,
    mayCustomize: true,
    mayManagePermissions: true,
    hasRunAsUser: true,
    states: undefined,
  };
  readonly questions: OpenQuestions;
  readonly organizationId: string;
  readonly userId: string;
  readonly customFields: ObjectTable;
  readonly #tables = new Map<string, ObjectTable>();
  #visibility = new Map<string, 'edit' | 'read'>();
  #assigned = 0;

  constructor(questions: Partial<OpenQuestions>, now: () => Date) {
    this.questions = {
      sameKeyTwice: 'DUPLICATE_VALUE',
      collectionDuplicates: 'unnamed',
      unreadableRecord: 'record',
      deletedKey: 'creates',
      absentKeyField: 404,
      ...questions,
    };
    for (const definition of standardObjects)
      this.#tables.set(definition.name.toLowerCase(), new ObjectTable(definition, now));
    this.customFields = new ObjectTable(customFieldObject, now);
    this.organizationId = this.table('Organization').insert({
      Name: 'Example Org',
      OrganizationType: 'Developer Edition',
      IsSandbox: false,
    }).Id;
    this.userId = this.table('User').insert({
      Username: 'leadsync@example.com.invalid',
      Email: 'leadsync@example.com',
      IsActive: true,
    }).Id;
  }

  get tables(): ObjectTable[] {
    return [...this.#tables.values()];
  }

  findTable(name: string): ObjectTable | undefined {
    const table = this.#tables.get(name.toLowerCase());
    return name.toLowerCase() === 'lead' && this.settings.leadAccess === 'none' ? undefined : table;
  }

  /** Whether the user may create and edit records of the object. */
  mayWrite({ definition: { name } }: ObjectTable): boolean {
    if (name === 'Lead') return this.settings.leadAccess === 'edit';
    return this.settings.mayManagePermissions || !/Permission/.test(name);
  }

  /** Returns the table of an object that is there. @throws Error if it is not */
  table(name: string): ObjectTable {
    const table = this.#tables.get(name.toLowerCase());
    if (table === undefined) throw new Error(`the stub has no object ${name}`);
    return table;
  }

  /** Returns the field if the user may see it: a custom field without permission looks as if it did not exist. */
  visibleField(table: ObjectTable, name: string): Field | undefined {
    const field = table.field(name);
    if (field === undefined || !field.custom) return field;
    return this.#visibility.has(`${table.definition.name}.${field.name}`) ? field : undefined;
  }

  /** Whether the user may write the field at all; `describe` says whether at creation or later. */
  isEditable(table: ObjectTable, field: Field): boolean {
    return !field.custom || this.#visibility.get(`${table.definition.name}.${field.name}`) === 'edit';
  }

  visibleFields(table: ObjectTable): Field[] {
    return table.fields.filter(({ name }) => this.visibleField(table, name) !== undefined);
  }

  /** Deletes a field, custom or not. */
  removeField(object: string, name: string): void {
    this.table(object).removeField(name);
    const developerName = name.replace(/__c$/, '');
    for (const own of this.customFields.all())
      if (own['DeveloperName'] === developerName && own['TableEnumOrId'] === object)
        this.customFields.put({ ...own, IsDeleted: true });
  }

  /** Lets permission sets, their fields and their assignments take effect. Called after each change to them. */
  applyPermissions(): void {
    const own = this.table('PermissionSetAssignment')
      .all()
      .filter(({ IsDeleted, AssigneeId }) => !IsDeleted && AssigneeId === this.userId);
    const sets = new Set(own.map(({ PermissionSetId }) => PermissionSetId));
    this.#visibility = new Map();
    for (const permission of this.table('FieldPermissions').all()) {
      if (permission.IsDeleted || !sets.has(permission['ParentId'] ?? null)) continue;
      const name = String(permission['Field']);
      if (permission['PermissionsEdit'] === true) this.#visibility.set(name, 'edit');
      else if (permission['PermissionsRead'] === true && !this.#visibility.has(name))
        this.#visibility.set(name, 'read');
    }
  }

  /** Returns the owner of a new record: the next of the assignment rule, or the user itself. */
  nextOwner(rule: 'active' | 'none'): string {
    const owners = rule === 'active' ? this.settings.assignmentRule?.owners : undefined;
    if (owners === undefined || owners.length === 0) return this.userId;
    const owner = owners[this.#assigned % owners.length] ?? this.userId;
    this.#assigned += 1;
    return owner;
  }

  /** Returns the live records of an object, oldest first. */
  live(name: string): StoredRecord[] {
    return this.table(name)
      .all()
      .filter(({ IsDeleted }) => !IsDeleted);
  }
}
