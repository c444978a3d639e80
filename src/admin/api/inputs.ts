import { z } from 'zod';
import { isDeliveryId, isLeadId, KINDS_OF_IDS, MAX_IDS } from '../../leads/selected-id.ts';
import { MOMENT_FORMS, momentOf } from '../../platform/time/parse-moment.ts';
import { AuditFilter } from '../contract/audit.ts';
import { DeliveryFilter, ReplayFilter } from '../contract/deliveries.ts';
import { LeadSearch, PersonSearch } from '../contract/leads.ts';
import { LogFilter } from '../contract/log.ts';
import { MAX_NOTE } from '../contract/operations.ts';
import { PollFilter } from '../contract/polls.ts';
import { RejectedFilter } from '../contract/rejected.ts';
import { Period } from '../contract/sinks.ts';
import { Order } from '../contract/values.ts';

/** Inputs of the API: the shapes in `contract/`, parsed from text. Unknown fields are errors. */

const MAX_ROWS = 200;
const DEFAULT_ROWS = 50;

/** Parses a time as people write it, and returns it as ISO 8601. */
const moment = z
  .string()
  .transform((text, { issues }) => {
    const at = momentOf(text, new Date());
    if (at) return at.toISOString();
    issues.push({ code: 'custom', input: text, message: `must be ${MOMENT_FORMS}` });
    return z.NEVER;
  })
  .describe(
    'A time in RFC 3339, such as `2026-11-20T10:00:00Z` (write the `+` of an offset as `%2B` in an address), or an age, counted back from now: `90m`, `12h`, `2d`, `1w`. A time without an offset is in UTC; a date means the start of that day in UTC.',
  );

const lead = z
  .string()
  .regex(/^\d{1,19}$/, 'must be a lead id: a whole number')
  .describe('Lead id. It is text, because it can be above 2^53.');

const moments = { since: moment.optional(), until: moment.optional() };

const delivered = { delivered_since: moment.optional(), delivered_until: moment.optional() };

const filter = { ...DeliveryFilter.shape, ...moments, ...delivered, lead: lead.optional() };

const id = z
  .string()
  .refine((text) => isLeadId(text) || isDeliveryId(text), `must be ${KINDS_OF_IDS}`)
  .describe('Lead id or delivery id.');

const ids = z
  .array(id)
  .min(1)
  .max(MAX_IDS)
  .optional()
  .describe('Ids of leads and of deliveries. The answer names those that select nothing.');

const dry_run = z
  .boolean()
  .optional()
  .describe('Only says what the request would do. Changes nothing, and the audit log has no line for it.');

const page = {
  limit: z.coerce
    .number('must be a whole number')
    .int('must be a whole number')
    .min(1, 'must be at least 1')
    .max(MAX_ROWS, `must be at most ${MAX_ROWS}`)
    .default(DEFAULT_ROWS)
    .describe('Maximum rows per answer.'),
  after: z.string().max(40).optional().describe('Cursor: the `next` of the previous answer.'),
};

const sortedPage = {
  ...page,
  order: Order.optional().describe('Which rows come first. If absent, `newest`.'),
};

const leadFilter = { ...LeadSearch.shape, ...moments, lead: lead.optional() };

/** Query of `GET /leads`. A lead must match every parameter. */
export const leadQuery = inOrder(z.strictObject({ ...leadFilter, ...sortedPage }));
/** Query of `GET /leads/count`: the same filter without paging, and without `delivered`, by which a count would read every lead. */
export const leadCountQuery = inOrder(z.strictObject(leadFilter).omit({ delivered: true }));
/** Body of a search for a person. Not a query, because servers and proxies log addresses. */
export const findBody = z.strictObject({
  text: PersonSearch.shape.text.describe(
    "Words of the client's name or email address, or at least four digits of the phone number.",
  ),
  source: z.string().optional().describe('Only leads of this source.'),
  limit: page.limit,
  after: page.after,
});
/** Query of `GET /deliveries`. `since` and `until` compare the time when the delivery was owed. */
export const deliveryQuery = inOrder(z.strictObject({ ...filter, ...sortedPage }));
/** Maximum number of ids in an address. */
const MAX_IDS_IN_ADDRESS = 100;

/** Query of `GET /deliveries/count`: the same filter without paging, and ids with commas between them. */
export const deliveryCountQuery = inOrder(
  z.strictObject({
    ...filter,
    ids: z
      .string()
      .transform((text) => text.split(','))
      .pipe(z.array(id).max(MAX_IDS_IN_ADDRESS))
      .optional()
      .describe(
        `Ids of leads and of deliveries, with commas between them, at most ${MAX_IDS_IN_ADDRESS}. Counts each delivery once.`,
      ),
  }),
);
/** Query of `GET /polls`. It has no time range; older polls are on later pages. */
export const pollQuery = z.strictObject({ ...PollFilter.shape, ...sortedPage });

/** Query of `GET /log`. */
export const logQuery = z.strictObject(LogFilter.shape);

/** Query of `GET /sinks/{sink}`. */
export const sinkQuery = z.strictObject({
  period: Period.default('24h').describe('Attempts are counted from this long ago until now.'),
});
/** Query of `GET /rejected-leads`. */
export const rejectedQuery = z.strictObject({ ...RejectedFilter.shape, ...sortedPage });
/** Path parameter of a rejected lead: the `rejected_id` of the list. */
export const rejectedPath = z.strictObject({ id: z.string().regex(/^\d{1,15}$/, 'must be a whole number') });
/** Query of `GET /audit`. */
export const auditQuery = inOrder(z.strictObject({ ...AuditFilter.shape, ...moments, ...page }));

/** Selects the deliveries to retry: by at least one filter, or `all`. */
export const retryBody = orAll(
  inOrder(
    z.strictObject({
      ...filter,
      ids,
      state: z
        .enum(['dead', 'pending', 'discarded'], {
          error: 'must be dead, pending or discarded: leadsync retries no others',
        })
        .optional()
        .describe('If absent, both dead and pending deliveries.'),
      dry_run,
      all: z.literal(true).optional().describe('Selects every dead or pending delivery of every sink.'),
    }),
  ),
  'dead or pending delivery',
);

/** Selects the dead deliveries to discard: by at least one filter, or `all`. */
export const discardBody = orAll(
  inOrder(
    z.strictObject({
      ...filter,
      ids,
      state: z.literal('dead', { error: 'must be dead: leadsync discards no others' }).optional(),
      note: note(),
      dry_run,
      all: z.literal(true).optional().describe('Selects every dead delivery of every sink.'),
    }),
  ),
  'dead delivery',
);

/** Selects the leads to replay to a sink: by at least one filter, or `all`. */
export const replayAllBody = orAll(
  inOrder(
    z.strictObject({
      ...ReplayFilter.shape,
      ...moments,
      ...delivered,
      lead: lead.optional(),
      ids,
      left_out: ReplayFilter.shape.left_out.describe(
        'Only leads that the sink does not have because its `where` left them out.',
      ),
      dry_run,
      all: z.literal(true).optional().describe('Selects every lead in the ledger.'),
    }),
  ),
  'lead',
);

function note() {
  return z
    .string()
    .trim()
    .min(1)
    .max(MAX_NOTE)
    .describe(
      'Why the deliveries are discarded. The note is stored with the reason; do not write personal data in it.',
    );
}

/** Requires a filter or `all`, so that a forgotten field does not select everything. */
function orAll<Shape extends z.ZodType<{ all?: true | undefined }>>(shape: Shape, what: string) {
  return shape.refine(
    (body) => {
      const { all, note: _, dry_run: __, ...filter } = body as Record<string, unknown>;
      return (all === true) !== Object.values(filter).some((value) => value !== undefined);
    },
    { error: `must name a filter, or \`all: true\` for every ${what}, but not both` },
  );
}

/** Path parameters of a lead. The lead id has 1 to 19 digits; the operation checks its range. */
export const leadPath = z.strictObject({ source: z.string(), lead });
/** Path parameters of one version of a lead. The versions of each lead are counted from 1. */
export const versionPath = leadPath.extend({
  version: z.coerce.number('must be a version number').int('must be a version number').min(1),
});
/** Path parameter of a sink. The operation checks whether the sink exists. */
export const sinkPath = z.strictObject({ sink: z.string() });
/** Path parameter of a source. The operation checks whether the source exists. */
export const sourcePath = z.strictObject({ source: z.string() });
/** Path parameter of an export. The operation checks whether the export exists. */
export const exportPath = z.strictObject({ export: z.string() });
/** Path parameter of a backup. The operation checks whether the backup exists. */
export const backupPath = z.strictObject({ backup: z.string() });
/** Body of a replay: one sink per request. The operation checks whether the sink exists. */
export const replayBody = z.strictObject({
  sink: z.string().describe('Sink that gets the lead again.'),
  dry_run,
});
/** Body of a cancellation. A missing body or null counts as `{}`. */
export const cancelBody = z.strictObject({ dry_run }).nullish().describe('Whether to only count.');
/** Body of an expression to try. The operation checks whether the lead and the sink exist. */
export const expressionBody = z
  .strictObject({
    expression: z.string().min(1).describe("An expression, as in a sink's `where` and `fields`."),
    sink: z.string().optional().describe('Sink whose `region` applies. If absent, no region applies.'),
    source: z.string().optional().describe('Source of the lead.'),
    lead: lead.optional().describe('Lead id. If absent, the sample lead of `tests`.'),
  })
  .refine(({ source, lead }) => (source === undefined) === (lead === undefined), {
    path: ['source'],
    error: 'must be given together with `lead`',
  });
/** The reason recorded for a pause when the client gives none. */
export const DEFAULT_PAUSE_REASON = 'paused through the API';

/** Body of a pause: its reason, 1 to 200 characters. A missing body or null counts as `{}`. */
export const pauseBody = z
  .strictObject({ reason: z.string().trim().min(1).max(200).default(DEFAULT_PAUSE_REASON) })
  .nullish()
  .describe('Reason for the pause, which pages and commands show.');

interface Times {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly delivered_since?: string | undefined;
  readonly delivered_until?: string | undefined;
}

function inOrder<Shape extends z.ZodType<Times>>(shape: Shape) {
  return shape
    .refine(({ since, until }) => !since || !until || since < until, {
      path: ['until'],
      error: 'must be after `since`',
    })
    .refine(({ delivered_since: since, delivered_until: until }) => !since || !until || since < until, {
      path: ['delivered_until'],
      error: 'must be after `delivered_since`',
    });
}
