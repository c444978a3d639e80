import { type Clock, systemClock } from '../../../src/platform/time/clock.ts';
import { ApiError } from './api-error.ts';
import { Associations } from './associations.ts';
import { type Limits, limitsOfPlans, RateLimits } from './limits.ts';
import { type ObjectName, objectNames, objectTypes } from './object-types.ts';
import { Properties } from './properties.ts';
import { emailsOf, Records, type StoredRecord } from './records.ts';

/** Where HubSpot's documents are silent: what the stub does in each case. */
export interface OpenQuestions {
  /** Whether an upsert by e-mail finds a contact by a secondary address; otherwise it gets a 409. */
  readonly upsertFindsSecondaryEmail: boolean;
  /** Whether a read by e-mail finds a contact by a secondary address. */
  readonly readFindsSecondaryEmail: boolean;
  /** Whether an upsert by e-mail keeps the properties that its input leaves out; otherwise it clears them. */
  readonly upsertByEmailKeepsOmitted: boolean;
  /** The order of a batch's results. */
  readonly resultOrder: 'as-sent' | 'reversed';
  /** Whether results and errors carry `objectWriteTraceId`; the documentation's example of results has none. */
  readonly tracedResults: boolean;
  /** What a `lifecyclestage` that moves backward does. */
  readonly lifecycleBackward: 'ignored' | 'refused';
  /** Whether a batch update by the id of a merged contact names the contact among its results. */
  readonly updateNamesMerged: boolean;
  /** Whether the address of a permanently deleted contact is refused from then on. */
  readonly erasedStaysOut: boolean;
  /** Whether a lead needs its contact from the start. An upsert then makes none: it takes no associations. */
  readonly leadNeedsContact: boolean;
  /** Whether notes take unique properties. */
  readonly uniqueNotes: boolean;
}

/** The defaults; where two answers are conceivable, mostly the one that asks more of a client. */
const openQuestions: OpenQuestions = {
  upsertFindsSecondaryEmail: false,
  readFindsSecondaryEmail: false,
  upsertByEmailKeepsOmitted: true,
  resultOrder: 'as-sent',
  tracedResults: true,
  lifecycleBackward: 'ignored',
  updateNamesMerged: true,
  erasedStaysOut: true,
  leadNeedsContact: true,
  uniqueNotes: false,
};

/** An owner of records. */
export interface Owner {
  readonly id: string;
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
}

/** What an account has from the start. */
export interface AccountOptions extends Partial<OpenQuestions> {
  readonly clock?: Clock;
  readonly token?: string;
  readonly portalId?: number;
  /** The zone in which the day's limit ends. */
  readonly timeZone?: string;
  readonly owners?: readonly Owner[];
  /** How far search is behind writes, in ms. */
  readonly searchLagMs?: number;
  /** None by default. */
  readonly limits?: keyof typeof limitsOfPlans | Limits;
}

/** The state of a HubSpot account. */
export class Account {
  readonly clock: Clock;
  readonly portalId: number;
  readonly timeZone: string;
  readonly owners: readonly Owner[];
  readonly ownerIds: ReadonlySet<string>;
  readonly searchLagMs: number;
  readonly open: OpenQuestions;
  readonly limits: RateLimits;
  readonly properties: Readonly<Record<ObjectName, Properties>>;
  readonly records: Readonly<Record<ObjectName, Records>>;
  readonly associations = new Associations();
  /** The objects that the account's plan has. */
  readonly objects = new Set<ObjectName>(objectNames);
  /** Rules that an administrator has set, by `object.property`: whether a value is allowed. */
  readonly rules = new Map<string, (value: string) => boolean>();
  readonly erasedEmails = new Set<string>();
  token: string | undefined;
  scopes: ReadonlySet<string> = new Set(everyScope);
  readonly #nextIds = perObject(() => 10_000_000_001);

  constructor(options: AccountOptions) {
    this.clock = options.clock ?? systemClock;
    this.token = options.token ?? 'pat-eu1-stub';
    this.portalId = options.portalId ?? 1_234_567;
    this.timeZone = options.timeZone ?? 'America/New_York';
    this.owners = options.owners ?? standardOwners;
    this.ownerIds = new Set(this.owners.map(({ id }) => id));
    this.searchLagMs = options.searchLagMs ?? 10_000;
    this.open = { ...openQuestions, ...options };
    const limits = typeof options.limits === 'string' ? limitsOfPlans[options.limits] : options.limits;
    this.limits = new RateLimits(limits, this.clock, this.timeZone);
    this.properties = perObject((name) => new Properties(name, name !== 'notes' || this.open.uniqueNotes));
    this.records = perObject((name) => new Records(name));
  }

  /** Returns the id of a new record. Records of different objects may have the same id. */
  newId(object: ObjectName): string {
    return String(this.#nextIds[object]++);
  }

  /** Stores a record, visible to search after the lag. */
  store(object: ObjectName, id: string, properties: Record<string, string>): StoredRecord {
    return this.records[object].put(
      id,
      properties,
      this.properties[object].unique,
      this.clock.now(),
      this.searchLagMs,
    );
  }

  delete(object: ObjectName, id: string): void {
    this.records[object].delete(id, this.properties[object].unique);
    this.associations.move(object, id, undefined);
  }

  /**
   * Merges one contact into another: its addresses become secondary, its id answers as the other's.
   * @throws ApiError 404 if either does not exist
   */
  merge(primaryId: string, otherId: string): StoredRecord {
    const contacts = this.records.contacts;
    const [primary, other] = [contacts.byId(primaryId), contacts.byId(otherId)];
    if (!primary || !other || primary.id === other.id)
      throw new ApiError(404, 'OBJECT_NOT_FOUND', 'resource not found');
    const [email, ...additional] = [...emailsOf(primary.properties), ...emailsOf(other.properties)];
    contacts.delete(other.id, this.properties.contacts.unique);
    this.associations.move('contacts', other.id, primary.id);
    contacts.redirect(other.id, primary.id);
    return this.store('contacts', primary.id, {
      ...other.properties,
      ...primary.properties,
      ...(email === undefined ? {} : { email }),
      ...(additional.length === 0 ? {} : { hs_additional_emails: additional.join(';') }),
    });
  }
}

const standardOwners: readonly Owner[] = [
  { id: '101', email: 'one@example.com', firstName: 'Owner', lastName: 'One' },
  { id: '102', email: 'two@example.com', firstName: 'Owner', lastName: 'Two' },
];

/** Every scope that an endpoint of the stub asks for. */
export const everyScope: readonly string[] = [
  'oauth',
  'crm.objects.owners.read',
  ...Object.values(objectTypes)
    .filter(({ name, scopesOf }) => name === scopesOf)
    .flatMap(({ name }) =>
      ['objects', 'schemas'].flatMap((part) => [`crm.${part}.${name}.read`, `crm.${part}.${name}.write`]),
    ),
];

function perObject<Part>(make: (name: ObjectName) => Part): Record<ObjectName, Part> {
  return Object.fromEntries(objectNames.map((name) => [name, make(name)])) as Record<ObjectName, Part>;
}
