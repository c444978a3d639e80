import { z } from 'zod';
import { DeliveryState } from './deliveries.ts';
import { count, leadId } from './values.ts';

/** A request, file or row that a sink would send, or the beginning of it. */
const SinkPreview = z.object({
  /** Kind and destination; secrets are masked. */
  target: z.string(),
  /** Headers of a request, or columns of a row. */
  fields: z.array(z.object({ name: z.string(), value: z.string() })),
  /** Body of a request or content of a file; null for a row. */
  content: z.string().nullable(),
  /** Whether a text is longer than `MAX_PREVIEWED`, so that only its beginning is included. */
  truncated: z.boolean(),
});

/**
 * Personal data: what each configured sink would get for a lead now. `leadsync preview` shows the same. The audit log records each client that
 * reads this data.
 */
export const LeadPreviews = z.object({
  source: z.string(),
  lead_id: leadId,
  sinks: z.array(
    z.object({
      sink: z.string(),
      type: z.string(),
      /** `withheld` means that the sink would not get the lead, for example because its mapping leaves it out or fails for it. */
      state: z.enum(['sent', 'withheld']),
      /** The state of the last delivery of the lead to the sink; null if it was never owed to the sink. */
      delivery_state: DeliveryState.nullable(),
      /** Why the sink would not get the lead, in a sentence; null if it would. */
      reason: z.string().nullable(),
      /** How the state of the delivery or of the sink affects whether the preview is sent; null if it has no effect. */
      note: z.string().nullable(),
      /** The fields that the mapping makes from the lead, each as JSON text; null if the sink gets the lead as received. */
      fields: z.array(z.object({ name: z.string(), json: z.string() })).nullable(),
      previews: z.array(SinkPreview),
    }),
  ),
});

/** What an expression can use. */
export const ExpressionLanguage = z.object({
  /** Each variable, or field of a variable, and what it is: `lead.client_name`, `a text`. */
  variables: z.array(z.object({ name: z.string(), content: z.string() })),
  /** Each function of leadsync, and what it returns: `email(text)`. */
  functions: z.array(z.object({ usage: z.string(), result: z.string() })),
  /** Names of functions of CEL itself. */
  others: z.array(z.string()),
  /** Maximum length of an expression, in characters. */
  max_characters: count,
});

/** The characters of an expression that cause a fault: offsets in UTF-16 code units, the end exclusive. */
const Place = z.object({ start: count, end: count });

/**
 * Result of an expression for a lead. It is personal data unless the lead is the sample lead, so the audit log records each client that
 * evaluates an expression for a lead.
 */
export const TriedExpression = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('value'),
    /** Kind of value, in words: `text of 12 characters`. */
    type: z.string(),
    /** The value as JSON text, because a JSON number above 2^53 loses digits. */
    json: z.string(),
  }),
  z.object({
    /** `fault`: the expression is wrong for every lead. `failed`: the expression is valid, but fails for this lead. */
    kind: z.enum(['fault', 'failed']),
    message: z.string(),
    /** Next step; may be empty. */
    hint: z.string(),
    /** Null if no single part of the expression is the cause. */
    place: Place.nullable(),
  }),
]);

export type LeadPreviews = z.infer<typeof LeadPreviews>;
export type ExpressionLanguage = z.infer<typeof ExpressionLanguage>;
export type TriedExpression = z.infer<typeof TriedExpression>;
