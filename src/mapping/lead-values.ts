import type { Delivery, LeadEvent } from '../leads/delivery.ts';
import { type Lead, readLead } from '../leads/lead.ts';
import { parseDateTime } from '../leads/parse-date-time.ts';

/** A client's answer, as expressions see it. */
export class QuestionValue {
  readonly question: string;
  readonly slug: string;
  readonly answer: string;

  constructor(question: string, slug: string, answer: string) {
    this.question = question;
    this.slug = slug;
    this.answer = answer;
  }
}

/** A lead, as expressions see it: the variable `lead`. Expensive values are computed on first use. */
export class LeadValue {
  readonly source: string;
  readonly #lead: Lead;
  #questions: readonly QuestionValue[] | undefined;

  constructor(source: string, lead: Lead) {
    this.source = source;
    this.#lead = lead;
  }

  /** The lead's id with its source, unique among all sources: `main:4711`. */
  get key(): string {
    return `${this.source}:${this.#lead.id}`;
  }

  get id(): bigint {
    return this.#lead.id;
  }

  get service_name(): string {
    return this.#lead.service_name;
  }

  get service_slug(): string {
    return this.#lead.service_slug;
  }

  get client_name(): string {
    return this.#lead.client_name;
  }

  get client_email(): string {
    return this.#lead.client_email;
  }

  get client_phone_number(): string {
    return this.#lead.client_phone_number;
  }

  /** The friendly address; empty if the lead has no address. */
  get address(): string {
    return this.#lead.client_address?.friendly_address ?? '';
  }

  get all_details_one_liner(): string {
    return this.#lead.all_details_one_liner;
  }

  get created_text(): string {
    return this.#lead.created_at;
  }

  /** Null if `created_text` is not a time. */
  get created_at(): Date | null {
    const createdMs = parseDateTime(this.#lead.created_at);
    return createdMs === null ? null : new Date(createdMs);
  }

  get questions(): readonly QuestionValue[] {
    this.#questions ??= this.#lead.service_question_answers.map(
      ({ question, slug, answer }) => new QuestionValue(question, slug, answer),
    );
    return this.#questions;
  }
}

/** What a mapping needs to know about a delivery besides its lead: the variable `delivery`. */
export class DeliveryValue {
  readonly id: string;
  readonly event: LeadEvent;
  readonly version: bigint;
  readonly replay: boolean;
  readonly first_seen_at: Date;

  constructor({ id, event, version, replay, firstSeenAt }: Delivery) {
    this.id = id;
    this.event = event;
    this.version = BigInt(version);
    this.replay = replay;
    this.first_seen_at = firstSeenAt;
  }
}

/** The variables of expressions, for one delivery. All except `lead` are created on first use. */
export class Variables {
  readonly lead: LeadValue;
  readonly #delivery: Delivery;
  readonly #parsed: Lead;
  readonly #rawKeys: ReadonlySet<string> | undefined;
  #answers: ReadonlyMap<string, string> | undefined;
  #ofDelivery: DeliveryValue | undefined;
  #raw: unknown;

  /** `rawKeys` are the keys of `raw` that the expressions use; undefined if they may use any key. */
  constructor(delivery: Delivery, rawKeys: ReadonlySet<string> | undefined) {
    this.#delivery = delivery;
    this.#rawKeys = rawKeys;
    this.#parsed = readLead(delivery.raw);
    this.lead = new LeadValue(delivery.source, this.#parsed);
  }

  get delivery(): DeliveryValue {
    this.#ofDelivery ??= new DeliveryValue(this.#delivery);
    return this.#ofDelivery;
  }

  /** The first answer to each question, by slug. */
  get answers(): ReadonlyMap<string, string> {
    this.#answers ??= new Map(this.lead.questions.toReversed().map(({ slug, answer }) => [slug, answer]));
    return this.#answers;
  }

  /** The lead's JSON with whole numbers as exact integers. */
  get raw(): unknown {
    this.#raw ??=
      toCel(this.#used(this.#parsed), 'maybe rounded') ??
      toCel(this.#used(exactJson(this.#delivery.raw)), 'exact');
    return this.#raw;
  }

  #used(lead: unknown): unknown {
    if (!this.#rawKeys) return lead;
    // Without a prototype, so that `__proto__` is a key like any other.
    const used: Record<string, unknown> = Object.create(null);
    for (const key of this.#rawKeys)
      if (Object.hasOwn(lead as object, key)) used[key] = (lead as Record<string, unknown>)[key];
    return used;
  }
}

/**
 * Converts a JSON value to a CEL value. Whole numbers become bigints. Objects become maps, because CEL treats an object with a key `constructor` as
 * an instance of an unknown class. Returns undefined if the value contains a whole number that JSON.parse may have rounded.
 */
function toCel(value: unknown, numbers: 'exact' | 'maybe rounded'): unknown {
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value)) return BigInt(value);
    return Number.isInteger(value) && numbers === 'maybe rounded' ? undefined : value;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    if (value.length > MAX_LIST) throw new ListTooLong();
    const items = value.map((item) => toCel(item, numbers));
    return items.includes(undefined) ? undefined : items;
  }
  const entries = new Map<string, unknown>();
  for (const [key, inside] of Object.entries(value)) {
    const converted = toCel(inside, numbers);
    if (converted === undefined) return undefined;
    entries.set(key, converted);
  }
  return entries;
}

/** Maximum number of elements in a list that loops may run over. */
export const MAX_LIST = 1_000;

/** A list in the lead has more than `MAX_LIST` elements. `evaluate` explains the error by its code. */
export class ListTooLong extends Error {
  override readonly name = 'ListTooLong';
  readonly code = 'list_too_long';
}

/** Parses JSON with bigints in place of whole numbers. Takes ten times as long as JSON.parse. */
function exactJson(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown, context?: { source?: string }) => {
    const source = typeof value === 'number' ? context?.source : undefined;
    return source !== undefined && /^-?\d+$/.test(source) ? BigInt(source) : value;
  });
}
