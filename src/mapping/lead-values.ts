import type { Delivery, LeadEvent } from '../leads/delivery.ts';
import { readLead } from '../leads/lead.ts';

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

/** A lead, as expressions see it: the variable `lead`. */
export class LeadValue {
  /** The lead's id with its source, unique among all sources: `main:4711`. */
  readonly key: string;
  readonly id: bigint;
  readonly source: string;
  readonly service_name: string;
  readonly service_slug: string;
  readonly client_name: string;
  readonly client_email: string;
  readonly client_phone_number: string;
  /** The friendly address; empty if the lead has no address. */
  readonly address: string;
  readonly all_details_one_liner: string;
  /** Null if `created_text` is not a time. */
  readonly created_at: Date | null;
  readonly created_text: string;
  readonly questions: readonly QuestionValue[];

  constructor({ source, raw }: Pick<Delivery, 'source' | 'raw'>) {
    const lead = readLead(raw);
    this.key = `${source}:${lead.id}`;
    this.id = lead.id;
    this.source = source;
    this.service_name = lead.service_name;
    this.service_slug = lead.service_slug;
    this.client_name = lead.client_name;
    this.client_email = lead.client_email;
    this.client_phone_number = lead.client_phone_number;
    this.address = lead.client_address?.friendly_address ?? '';
    this.all_details_one_liner = lead.all_details_one_liner;
    this.created_text = lead.created_at;
    const created = new Date(lead.created_at);
    this.created_at = Number.isNaN(created.getTime()) ? null : created;
    this.questions = lead.service_question_answers.map(
      ({ question, slug, answer }) => new QuestionValue(question, slug, answer),
    );
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

/** The variables of expressions, for one delivery. */
export interface Variables {
  readonly lead: LeadValue;
  readonly delivery: DeliveryValue;
  /** The first answer to each question, by slug. */
  readonly answers: ReadonlyMap<string, string>;
  /** The lead's JSON with whole numbers as exact integers. */
  readonly raw: unknown;
}

/** Returns the variables for a delivery. `raw` is parsed at its first use, because most mappings never use it. */
export function variablesOf(delivery: Delivery): Variables {
  const lead = new LeadValue(delivery);
  let raw: unknown;
  return {
    lead,
    delivery: new DeliveryValue(delivery),
    answers: new Map(lead.questions.toReversed().map(({ slug, answer }) => [slug, answer])),
    get raw() {
      raw ??= exactJson(delivery.raw);
      return raw;
    },
  };
}

/**
 * Parses JSON. Whole numbers become bigints, so that ids beyond 2^53 are exact, and objects become maps: CEL takes an object with a key
 * `constructor` for an object of an unknown class.
 */
function exactJson(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown, context?: { source?: string }) => {
    const source = typeof value === 'number' ? context?.source : undefined;
    if (source !== undefined && /^-?\d+$/.test(source)) return BigInt(source);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? new Map(Object.entries(value)) : value;
  });
}
