import type { Account } from './account.ts';
import { ApiError, invalid, invalidValues, type PropertyFault } from './api-error.ts';
import { findType } from './associations.ts';
import { type ObjectName, objectTypes } from './object-types.ts';
import { emailsOf, type StoredRecord, uniqueValues } from './records.ts';
import { faultOfStage, faultOfValue } from './values.ts';

/** A link that a request asks for together with a new record. */
export interface WantedAssociation {
  readonly to: { readonly id: string };
  readonly types: readonly { readonly associationCategory: string; readonly associationTypeId: number }[];
}

/** A write that has passed every check. */
export interface Write {
  readonly id: string;
  readonly isNew: boolean;
  readonly properties: Record<string, string>;
  readonly links: readonly { readonly to: ObjectName; readonly toId: string }[];
}

const lifecycle = [
  'subscriber',
  'lead',
  'marketingqualifiedlead',
  'salesqualifiedlead',
  'opportunity',
].concat(['customer', 'evangelist', 'other']);

/** The writes of one request: checked against the account and each other before any of them is stored. */
export class Writes {
  readonly #account: Account;
  readonly #object: ObjectName;
  readonly #unique: readonly string[];
  /** The record that gets each unique value, by property and value. */
  readonly #claimed = new Map<string, string>();

  constructor(account: Account, object: ObjectName) {
    this.#account = account;
    this.#object = object;
    this.#unique = account.properties[object].unique;
  }

  /** Checks the creation of a record. @throws ApiError */
  create(sent: Readonly<Record<string, string>>, associations: readonly WantedAssociation[] = []): Write {
    const id = this.#account.newId(this.#object);
    const properties = withoutEmpty(this.#checked(sent));
    this.#checkRequired(properties, associations);
    const links = associations.flatMap((wanted) => this.#checkLink(wanted));
    return { ...this.#claim(id, properties), isNew: true, links };
  }

  /** Checks the change of a record; `clears` removes the properties that are not sent. @throws ApiError */
  update(record: StoredRecord, sent: Readonly<Record<string, string>>, clears = false): Write {
    const changes = this.#checked(sent);
    const kept = clears ? this.#withoutWritable(record.properties) : record.properties;
    const properties = withoutEmpty({ ...kept, ...changes });
    this.#checkLifecycle(record.properties, changes, properties);
    if (changes['email'] && emailsOf(record.properties).includes(changes['email']))
      properties['hs_additional_emails'] = emailsOf(record.properties)
        .filter((email) => email !== changes['email'])
        .join(';');
    return { ...this.#claim(record.id, withoutEmpty(properties)), isNew: false, links: [] };
  }

  /** Stores what was checked. @returns the record as it is then */
  store({ id, properties, links }: Write): StoredRecord {
    const record = this.#account.store(this.#object, id, properties);
    for (const { to, toId } of links) this.#account.associations.link(this.#object, id, to, toId);
    return record;
  }

  #checked(sent: Readonly<Record<string, string>>): Record<string, string> {
    const { ownerIds, erasedEmails, rules, portalId } = this.#account;
    const faults: PropertyFault[] = [];
    const values: Record<string, string> = {};
    for (const [name, text] of Object.entries(sent)) {
      const property = this.#account.properties[this.#object].find(name);
      const value = normalised(name, text);
      const fault: PropertyFault | undefined = property
        ? faultOfValue(property, value, {
            ownerIds,
            isErased: (email) => erasedEmails.has(email),
            rule: rules.get(`${this.#object}.${name}`),
          })
        : { name, error: 'PROPERTY_DOESNT_EXIST', message: `Property "${name}" does not exist` };
      if (fault) faults.push(fault);
      values[name] = value;
    }
    if (faults.length > 0) throw invalidValues(faults, portalId);
    return values;
  }

  #checkRequired(
    properties: Readonly<Record<string, string>>,
    associations: readonly WantedAssociation[],
  ): void {
    const { singular, required } = objectTypes[this.#object];
    const missing = required.filter((name) => properties[name] === undefined);
    if (missing.length > 0)
      throw invalid(`Error creating ${singular}. Some required properties were not set.`, {
        context: { properties: missing },
      });
    if (this.#object === 'leads' && this.#account.open.leadNeedsContact && associations.length === 0)
      throw invalid('Error creating LEAD. A lead must be associated with a contact or a company.', {
        context: { associations: ['contact'] },
      });
  }

  #checkLink({ to, types }: WantedAssociation): { to: ObjectName; toId: string }[] {
    return types.map(({ associationTypeId }) => {
      const type = findType(this.#object, associationTypeId);
      if (!type)
        throw invalid(
          `Association type ${associationTypeId} does not start at ${objectTypes[this.#object].singular}.`,
        );
      const record = this.#account.records[type.to].byId(to.id);
      if (!record)
        throw invalid(`No ${objectTypes[type.to].singular.toLowerCase()} with ID ${to.id} exists`, {
          context: { id: [to.id], objectType: [objectTypes[type.to].singular.toLowerCase()] },
        });
      return { to: type.to, toId: record.id };
    });
  }

  #checkLifecycle(
    before: Readonly<Record<string, string>>,
    changes: Readonly<Record<string, string>>,
    after: Record<string, string>,
  ): void {
    const [was, wanted] = [before['lifecyclestage'], changes['lifecyclestage']];
    if (!was || !wanted || lifecycle.indexOf(wanted) >= lifecycle.indexOf(was)) return;
    if (this.#account.open.lifecycleBackward === 'refused')
      throw invalidValues(
        [
          {
            name: 'lifecyclestage',
            error: 'INVALID_OPTION',
            message: `The lifecycle stage cannot be set back from ${was} to ${wanted}.`,
          },
        ],
        this.#account.portalId,
      );
    after['lifecyclestage'] = was;
  }

  /** The last check: stage and uniqueness. From then on, later writes of the request see the unique values as taken. */
  #claim(id: string, properties: Record<string, string>): Pick<Write, 'id' | 'properties'> {
    const stage =
      this.#object === 'deals' || this.#object === 'leads'
        ? faultOfStage(this.#object, properties)
        : undefined;
    if (stage) throw invalidValues([stage], this.#account.portalId);
    const values = uniqueValues(properties, this.#unique);
    for (const [property, value] of values) {
      const owner =
        this.#claimed.get(`${property}\n${value}`) ??
        this.#account.records[this.#object].byUnique(property, value)?.id;
      if (owner !== undefined && owner !== id) throw this.#conflict(property, value, owner);
    }
    for (const [property, value] of values) this.#claimed.set(`${property}\n${value}`, id);
    return { id, properties };
  }

  #conflict(property: string, value: string, owner: string): ApiError {
    if (property === 'email')
      return new ApiError(409, 'CONFLICT', `Contact already exists. Existing ID: ${owner}`);
    return invalidValues(
      [{ name: property, error: 'CONFLICTING_UNIQUE_VALUE', message: `${value} already has that value.` }],
      this.#account.portalId,
    );
  }

  #withoutWritable(properties: Readonly<Record<string, string>>): Record<string, string> {
    const known = this.#account.properties[this.#object];
    const keeps = (name: string) => known.find(name)?.readOnly || name === 'hs_additional_emails';
    return Object.fromEntries(Object.entries(properties).filter(([name]) => keeps(name)));
  }
}

/** Returns a value as HubSpot stores it: e-mail addresses in lower case. */
export function normalised(property: string, value: string): string {
  return property === 'email' || property === 'hs_additional_emails' ? value.toLowerCase() : value;
}

function withoutEmpty(properties: Readonly<Record<string, string>>): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(properties)) if (value !== '') kept[name] = value;
  return kept;
}
