import { z } from 'zod';
import { MOMENT_FORMS, momentOf } from '../../platform/time/moment.ts';
import { DeliveryFilter, LeadSearch, PollFilter } from '../contract/model.ts';

/** What the API takes: as the model has it, read from text, and strict about what it does not know. */

const MAX_ROWS = 200;
const DEFAULT_ROWS = 50;

/** A moment as people write it; gives it as the model has it. */
const moment = z
  .string()
  .transform((text, { issues }) => {
    const at = momentOf(text, new Date());
    if (at) return at.toISOString();
    issues.push({ code: 'custom', input: text, message: `must be ${MOMENT_FORMS}` });
    return z.NEVER;
  })
  .describe(
    'RFC 3339, such as `2026-11-20T10:00:00Z` (a `+` of an offset is `%2B` in an address); without an offset it is UTC, and a date means its first moment. Or how long ago: `90m`, `12h`, `2d`, `1w`.',
  );

const lead = z
  .string()
  .regex(/^\d{1,19}$/, "must be a lead's id: a whole number")
  .describe('As text, since it may be above 2^53.');

const moments = { since: moment.optional(), until: moment.optional() };

const filter = { ...DeliveryFilter.shape, ...moments, lead: lead.optional() };

const page = {
  limit: z.coerce
    .number('must be a whole number')
    .int('must be a whole number')
    .min(1, 'must be at least 1')
    .max(MAX_ROWS, `must be at most ${MAX_ROWS}`)
    .default(DEFAULT_ROWS)
    .describe('Rows in an answer, at most.'),
  after: z.string().max(40).optional().describe('The `next` of the answer before: goes on where it ends.'),
};

/** What `GET /leads` takes: all that is given must hold. Times come out as RFC 3339 in UTC, to the ms. */
export const leadQuery = inOrder(
  z.strictObject({ ...LeadSearch.shape, ...moments, lead: lead.optional(), ...page }),
);
/** What `GET /deliveries` takes: `since` and `until` are of when a delivery was owed. */
export const deliveryQuery = inOrder(z.strictObject({ ...filter, ...page }));
/** The same filter for a number in place of rows, which has no pages. */
export const deliveryCountQuery = inOrder(z.strictObject(filter));
/** What `GET /polls` takes. Polls are not asked for by time: older ones are on later pages. */
export const pollQuery = z.strictObject({ ...PollFilter.shape, ...page });

/** Which deliveries are retried: at least one of the choices, or `all`. */
export const retryBody = inOrder(
  z.strictObject({
    ...filter,
    state: z
      .enum(['dead', 'pending'], { error: 'must be dead or pending: others are not tried again' })
      .optional()
      .describe('Absent: dead and pending.'),
    all: z.literal(true).optional().describe('Every dead or pending delivery of every sink.'),
  }),
).refine(
  ({ all, ...filter }) => (all === true) !== Object.values(filter).some((value) => value !== undefined),
  {
    error: 'say which deliveries, or `all: true` for every dead or pending one, and not both',
  },
);

/** Names a lead. The id has 1 to 19 digits; that it is in the range of ids is the operation's to check. */
export const leadPath = z.strictObject({ source: z.string(), lead });
/** Names one content that a lead has had, counted from 1. */
export const versionPath = leadPath.extend({
  version: z.coerce.number("must be a version's number").int("must be a version's number").min(1),
});
/** Names a sink; whether there is one of that name is the operation's to say. */
export const sinkPath = z.strictObject({ sink: z.string() });
/** One sink a request; whether there is one of that name is the operation's to say. */
export const replayBody = z.strictObject({ sink: z.string().describe('Where the lead goes once more.') });
/** Why a sink is paused where nobody says. */
export const DEFAULT_PAUSE_REASON = 'paused through the API';

/** Why a sink is paused, in 1 to 200 characters. No body, or null, is as good as `{}`. */
export const pauseBody = z
  .strictObject({ reason: z.string().trim().min(1).max(200).default(DEFAULT_PAUSE_REASON) })
  .nullish()
  .describe('Why, for whoever sees it paused.');

function inOrder<Shape extends z.ZodType<{ since?: string | undefined; until?: string | undefined }>>(
  shape: Shape,
) {
  return shape.refine(({ since, until }) => !since || !until || since < until, {
    path: ['until'],
    error: 'must be after `since`',
  });
}
