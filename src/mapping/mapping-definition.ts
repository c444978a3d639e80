/** Maximum number of characters in an expression. */
export const MAX_EXPRESSION = 4_000;

/** What to do with a field whose expression fails for a lead: leave the field empty, or refuse the lead. */
export type OnInvalid = 'drop' | 'refuse';

/** One entry of `fields`: a constant, or an expression with its rules. */
export type FieldRule =
  | { readonly value: string | number | boolean | null }
  | {
      readonly from: string;
      /** Whether the field is sent with the event `created` only. */
      readonly once: boolean;
      /** Maximum number of characters; longer text is truncated. */
      readonly max?: number | undefined;
      readonly invalid: OnInvalid;
    };

/** Tables that `lookup` searches, by name. Each maps keys to values. */
export type Lookups = Readonly<Record<string, Readonly<Record<string, string>>>>;

/**
 * The part of a sink's configuration that defines which leads it gets and in which form. Plain data without secrets, because the ledger stores it as
 * JSON with every attempt that may have arrived.
 */
export interface MappingDefinition {
  /** The expression that decides whether a lead goes to the sink. */
  readonly where?: string | undefined;
  readonly fields?: Readonly<Record<string, FieldRule>> | undefined;
  /** The sink options whose value depends on the lead, such as the channel of a message. */
  readonly perLead?: Readonly<Record<string, FieldRule>> | undefined;
  /** The country of phone numbers without a country code: an ISO 3166-1 code such as `AU`. */
  readonly region?: string | undefined;
  readonly lookups?: Lookups | undefined;
}

/** Returns the text in which a definition is stored and by which it is compared. */
export function textOf({ where, fields, perLead, region, lookups }: MappingDefinition): string {
  return JSON.stringify({ where, fields, perLead, region, lookups });
}
