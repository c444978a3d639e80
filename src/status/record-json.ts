import { pollResult } from '../leads/poll-result.ts';
import type {
  FoundLead,
  LeadContent,
  LeadHistory,
  LeadRow,
  StoredAttempt,
  StoredPoll,
  StoredVersion,
} from '../ledger/contract/page-rows.ts';
import type { DeliveryRow } from '../ledger/contract/status-rows.ts';
import type { BatchWait } from './batch-wait.ts';
import { iso, isoOf, reasonOf } from './json-values.ts';
import { pollProblemCodes } from './problems/source-problems.ts';

/** Returns a lead without its content. Converts times from ms since 1970 to text. */
export function leadJson({
  source,
  lead,
  service,
  version,
  createdAt,
  firstSeenAt,
  changedAt,
  lastListedAt,
  goneAt,
  owedSinks,
  deliveredSinks,
  deadSinks,
}: LeadRow) {
  return {
    source,
    lead_id: lead,
    service_slug: service,
    version,
    created_at: iso(createdAt),
    first_seen_at: isoOf(firstSeenAt),
    changed_at: isoOf(changedAt),
    last_listed_at: iso(lastListedAt),
    gone_at: iso(goneAt),
    sinks: owedSinks,
    sinks_delivered: deliveredSinks,
    sinks_dead: deadSinks,
  };
}

/** Returns a lead with the contact that matched a search, which is personal data. */
export function foundLeadJson({ name, email, phone, matchedVersion, ...lead }: FoundLead) {
  return {
    ...leadJson(lead),
    client_name: name,
    client_email: email,
    client_phone_number: phone,
    matched_version: matchedVersion,
  };
}

/** Returns the history of a lead, in the order of the ledger, without lead content or answers from destinations. */
export function historyJson({ lead, versions, deliveries }: LeadHistory, batchWait: BatchWait) {
  return {
    lead: leadJson(lead),
    versions: versions.map(versionJson),
    deliveries: deliveries.map(({ attemptRows, ...delivery }) => ({
      ...deliveryJson(delivery, batchWait),
      attempt_rows: attemptRows.map(attemptJson),
    })),
  };
}

function versionJson({ version, validFrom, poll, changedFields }: StoredVersion) {
  return {
    version,
    valid_from: isoOf(validFrom),
    poll_id: poll,
    changed_fields: changedFields === null ? null : [...changedFields],
  };
}

function attemptJson({ startedAt, durationMs, outcome, httpStatus, error, times, lastAt }: StoredAttempt) {
  return {
    started_at: isoOf(startedAt),
    duration_ms: durationMs,
    outcome,
    http_status: httpStatus,
    error,
    times,
    last_started_at: iso(lastAt),
  };
}

/** Returns the content of a version and of the previous one, and the answers from destinations: personal data. The caller adds the source and the id. */
export function contentJson(content: LeadContent) {
  const { raw, rawBefore, answers } = content;
  return {
    ...versionJson(content),
    raw,
    raw_before: rawBefore,
    answers: answers.map(({ delivery, sink, startedAt, outcome, httpStatus, answer }) => ({
      delivery_id: delivery,
      sink,
      started_at: isoOf(startedAt),
      outcome,
      http_status: httpStatus,
      answer,
    })),
  };
}

/** Returns a delivery without its attempts. */
export function deliveryJson(row: DeliveryRow, batchWait: BatchWait) {
  return {
    delivery_id: row.delivery,
    source: row.source,
    lead_id: row.lead,
    lead_version: row.version,
    sink: row.sink,
    event: row.event,
    state: row.state,
    reason: row.reason ?? null,
    attempts: row.attempts,
    replay: row.replay,
    owed_at: row.owedAt.toISOString(),
    next_attempt_at: iso(row.nextAttemptAt),
    settled_at: iso(row.settledAt),
    discarded: row.discarded,
    ref: row.ref ? { ...row.ref, url: row.ref.url ?? null } : null,
    attempts_made: row.attemptsMade,
    last_http_status: row.lastAttempt?.httpStatus ?? null,
    last_duration_ms: row.lastAttempt?.durationMs ?? null,
    has_answer: row.hasAnswer,
    waits_for_batch_until: iso(batchWait(row)),
  };
}

/**
 * Returns a poll with its duration in ms, which is null while the poll runs and never negative, and with its problems. Removes the code from the
 * error.
 */
export function pollJson({ is_shrunk, listed_before, listing_rejected, ...poll }: StoredPoll) {
  const { started_at, finished_at, error } = poll;
  const durationMs =
    finished_at === null ? null : Math.max(0, Date.parse(finished_at) - Date.parse(started_at));
  const problems = pollProblemCodes({ ...poll, is_shrunk, listed_before, listing_rejected });
  const result = pollResult({ ...poll, is_shrunk, listing_rejected });
  return {
    ...poll,
    duration_ms: durationMs,
    error: reasonOf(error),
    problems,
    listed_before,
    result,
    listing_rejected,
  };
}
