import type { Clock } from '../../../src/platform/time/clock.ts';
import { CustomFields } from './custom-fields.ts';
import { PersonSearch } from './person-search.ts';
import { RecordSearch } from './record-search.ts';
import type { ContactValue, Deal, Lead, Note, Person } from './records.ts';
import type { PipedriveSettings } from './settings.ts';
import { invalidV1, invalidV2, notFound, Refusal, type VendorAnswer } from './vendor-answer.ts';

/** The user to whom the token belongs. */
export const ME = 1;

/** A company at Pipedrive: who works there, how it is set up, and its records. */
export class Company {
  readonly users = [
    user(ME, 'Robin Example', true),
    user(2, 'Kim Example', true),
    user(3, 'Former Employee', false),
  ];
  readonly pipelines = [pipeline(1, 'Sales'), pipeline(2, 'Partners')];
  readonly stages = [stage(1, 1, 'Qualified'), stage(2, 1, 'Proposal'), stage(3, 2, 'Contacted')];
  readonly leadLabels = [
    leadLabel('f08b42a0-4e75-11ea-9643-03698ef1cfd6', 'Hot', 'red'),
    leadLabel('f08b42a1-4e75-11ea-9643-03698ef1cfd6', 'Cold', 'blue'),
  ];
  readonly leadSources = ['Manually created', 'Deal', 'Web forms', 'Import', 'API'].map((name) => ({ name }));
  readonly organizations: ReadonlySet<number> = new Set([1]);
  readonly dealFields: CustomFields;
  readonly personFields: CustomFields;
  readonly persons = new Map<number, Person>();
  readonly leads = new Map<string, Lead>();
  readonly deals = new Map<number, Deal>();
  readonly notes = new Map<number, Note>();
  readonly search: PersonSearch;
  readonly recordSearch: RecordSearch;
  readonly settings: PipedriveSettings;
  readonly #clock: Pick<Clock, 'now' | 'monotonicMs'>;
  /** The ids of leads and deals by their person. */
  readonly #leadsOf = new Map<number, Set<string>>();
  readonly #dealsOf = new Map<number, Set<number>>();
  /** Every change of a person: its time, never falling, and the id. */
  readonly #personChanges: { readonly time: string; readonly id: number }[] = [];
  #lastId = 0;

  constructor(account: string, settings: PipedriveSettings, clock: Pick<Clock, 'now' | 'monotonicMs'>) {
    this.settings = settings;
    this.#clock = clock;
    this.dealFields = new CustomFields('deal', account, settings);
    this.personFields = new CustomFields('person', account, settings);
    this.search = new PersonSearch(clock, settings);
    this.recordSearch = new RecordSearch(clock, settings);
  }

  /** Adds pipelines and stages until there are this many of both. */
  fillPipelines(count: number): void {
    while (this.pipelines.length < count)
      this.pipelines.push(pipeline(this.pipelines.length + 1, `Pipeline ${this.pipelines.length + 1}`));
    while (this.stages.length < count)
      this.stages.push(stage(this.stages.length + 1, 1, `Stage ${this.stages.length + 1}`));
  }

  /** Returns the time in whole seconds, as v2 stores it. */
  now(): string {
    return `${this.nowMs().slice(0, 19)}Z`;
  }

  /** Returns the time in ms, as leads store it. */
  nowMs(): string {
    return this.#clock.now().toISOString();
  }

  /** Returns an id that no record has. */
  nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  storePerson(person: Person): Person {
    this.persons.set(person.id, person);
    const before = this.#personChanges.at(-1)?.time ?? '';
    const time = person.update_time > before ? person.update_time : before;
    this.#personChanges.push({ time, id: person.id });
    this.search.changed(person);
    return person;
  }

  storeLead(lead: Lead): Lead {
    link(this.#leadsOf, this.leads.get(lead.id)?.person_id, lead.person_id, lead.id);
    this.leads.set(lead.id, lead);
    this.recordSearch.changed('lead', lead.id, { type: 'lead', record: lead });
    return lead;
  }

  removeLead(id: string): void {
    link(this.#leadsOf, this.leads.get(id)?.person_id, undefined, id);
    this.leads.delete(id);
    this.recordSearch.changed('lead', id, undefined);
  }

  storeDeal(deal: Deal): Deal {
    link(this.#dealsOf, this.deals.get(deal.id)?.person_id, deal.person_id, deal.id);
    this.deals.set(deal.id, deal);
    const indexed = deal.is_deleted ? undefined : ({ type: 'deal', record: deal } as const);
    this.recordSearch.changed('deal', deal.id, indexed);
    return deal;
  }

  /**
   * Merges a person into another, as https://pipedrive.readme.io/docs/merging-two-persons says: fields that both have keep the value of the
   * other, and everything that hangs on the person moves. @throws Error if one of them is missing
   */
  mergePerson(id: number, into: number): void {
    const [merged, kept] = [this.persons.get(id), this.persons.get(into)];
    if (!merged || !kept) throw new Error(`the stub has no person ${merged ? into : id}`);
    const more = (of: readonly ContactValue[]) => of.map((one) => ({ ...one, primary: false }));
    const update_time = this.now();
    this.storePerson({
      ...kept,
      emails: [...kept.emails, ...more(merged.emails)],
      phones: [...kept.phones, ...more(merged.phones)],
      custom_fields: { ...merged.custom_fields, ...withoutEmpty(kept.custom_fields) },
      update_time,
    });
    for (const lead of this.leadsOf(id)) this.storeLead({ ...lead, person_id: into });
    for (const deal of this.dealsOf(id)) this.storeDeal({ ...deal, person_id: into });
    for (const note of this.notes.values())
      if (note.person_id === id) this.notes.set(note.id, { ...note, person_id: into });
    this.storePerson({ ...merged, is_deleted: true, update_time });
  }

  /** Returns the leads of a person, oldest first; of all persons without one. */
  leadsOf(person: number | undefined): Lead[] {
    if (person === undefined) return [...this.leads.values()];
    return [...(this.#leadsOf.get(person) ?? [])].flatMap((id) => this.leads.get(id) ?? []);
  }

  dealsOf(person: number | undefined): Deal[] {
    if (person === undefined) return [...this.deals.values()];
    return [...(this.#dealsOf.get(person) ?? [])].flatMap((id) => this.deals.get(id) ?? []);
  }

  /** Returns the persons that changed at `since` or later, by id. */
  personsSince(since: string): Person[] {
    const from = new Date(since).toISOString().replace('.000Z', 'Z');
    let [low, high] = [0, this.#personChanges.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#personChanges[middle]?.time ?? '') < from) low = middle + 1;
      else high = middle;
    }
    const ids = new Set(this.#personChanges.slice(low).map(({ id }) => id));
    const persons = [...ids].sort((a, b) => a - b).flatMap((id) => this.persons.get(id) ?? []);
    return persons.filter(({ update_time }) => update_time >= from);
  }

  /** @throws Refusal unless each link leads to a record that exists */
  requireLinks(version: 'v1' | 'v2', links: Links): void {
    for (const [name, id] of Object.entries(links)) {
      if (id !== undefined && id !== null && !this.#exists(name, id))
        throw new Refusal(this.#missing(version, name));
    }
  }

  #exists(name: string, id: unknown): boolean {
    if (name === 'owner_id' || name === 'user_id') {
      return this.users.some((user) => user.id === id && user.active_flag);
    }
    if (name === 'person_id') return this.persons.get(id as number)?.is_deleted === false;
    if (name === 'deal_id') return this.deals.get(id as number)?.is_deleted === false;
    if (name === 'lead_id') return this.leads.has(id as string);
    return this.organizations.has(id as number);
  }

  #missing(version: 'v1' | 'v2', name: string): VendorAnswer {
    if (this.settings.missingLinkStatus === 404) return notFound();
    return version === 'v1' ? invalidV1(`"${name}" does not exist`) : invalidV2([`${name}: does not exist`]);
  }
}

/** The ids in a request by parameter: `owner_id`, `person_id`, `org_id` … */
type Links = Readonly<Record<string, unknown>>;

function link<Id>(
  index: Map<number, Set<Id>>,
  before: number | null | undefined,
  after: number | null | undefined,
  id: Id,
): void {
  if (before === after) return;
  if (before) index.get(before)?.delete(id);
  if (!after) return;
  const ids = index.get(after);
  if (ids) ids.add(id);
  else index.set(after, new Set([id]));
}

function withoutEmpty(values: Person['custom_fields']): Person['custom_fields'] {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
}

function user(id: number, name: string, isActive: boolean) {
  return {
    id,
    name,
    email: `user${id}@crm.example`,
    default_currency: 'EUR',
    locale: 'en_GB',
    timezone_name: 'Europe/London',
    activated: isActive,
    active_flag: isActive,
    is_deleted: !isActive,
    is_you: id === ME,
    role_id: 1,
    access: [{ app: 'sales', admin: id === ME }],
    created: '2025-01-01 09:00:00',
  };
}

const ADDED = '2025-01-01T09:00:00Z';

function pipeline(id: number, name: string) {
  return {
    id,
    name,
    order_nr: id,
    is_deleted: false,
    is_deal_probability_enabled: true,
    add_time: ADDED,
    update_time: ADDED,
  };
}

function stage(id: number, pipelineId: number, name: string) {
  return {
    id,
    name,
    order_nr: id,
    pipeline_id: pipelineId,
    is_deleted: false,
    deal_probability: 100,
    is_deal_rot_enabled: false,
    days_to_rotten: null,
    add_time: ADDED,
    update_time: ADDED,
  };
}

function leadLabel(id: string, name: string, color: string) {
  return { id, name, color, add_time: '2025-01-01T09:00:00.000Z', update_time: '2025-01-01T09:00:00.000Z' };
}
