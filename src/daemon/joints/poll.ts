import { hasShrunk } from '../../leads/poll-result.ts';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import type { LedgerPolling, PollSummary } from '../../ledger/contract/ledger-polling.ts';
import type { KnownProcess } from '../../ledger/contract/machines.ts';
import type { PollId } from '../../ledger/contract/status-rows.ts';
import { requireSameOrigin } from '../../operations/require-same-origin.ts';
import { type Source, SourceError } from '../../source/contract/source.ts';
import { pollError } from '../../status/poll-error.ts';
import type { Event, EventOf } from '../../telemetry/events.ts';
import { type Progress, type RecordingParts, recordListing } from './record-listing.ts';
import type { ReportedRejections } from './reported-rejections.ts';

/** What all polls of a source share. */
export interface PollParts extends RecordingParts {
  readonly source: Source;
  readonly ledger: LedgerPolling;
  readonly rejections: ReportedRejections;
  /** The token under which this process holds the duty to poll the source; undefined if no other process can hold it. */
  readonly duty?: string | undefined;
}

/** Why a poll failed. The code and `retryAfterMs` determine the back-off; the other fields are for messages and events. */
export interface PollFailure {
  readonly code: string;
  readonly reason: string;
  readonly hint: string;
  readonly retryAfterMs: number | undefined;
  readonly report: FailureReport;
}

/** What came of polling a source once: the failure, if the poll failed, and the process that polls the source instead, if another one does. */
export interface PolledOnce {
  readonly source: string;
  readonly failure: PollFailure | undefined;
  readonly elsewhere: KnownProcess | undefined;
}

type FailureReport = Omit<EventOf<'poll-failed'>, 'retryInMs' | 'failures'>;

/**
 * The joint between source and ledger: reads one listing and records it. Returns undefined if the listing was recorded completely or has
 * not changed; otherwise the failure. Leads recorded before a failure stay recorded.
 */
export async function poll(parts: PollParts, signal: AbortSignal): Promise<PollFailure | undefined> {
  const { source, ledger, clock, emit } = parts;
  const startMs = clock.monotonicMs();
  const progress: Progress = {
    listed: 0,
    new: 0,
    changed: 0,
    rejected: 0,
    startMs,
    reportedMs: startMs,
  };
  // Aborts the reading when leadsync stops, or when the listing cannot be recorded. Otherwise, the poll could wait for a long time for a
  // service that sends nothing more.
  const reading = new AbortController();
  const stop = () => reading.abort(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  let id: PollId | undefined;
  try {
    id = await ledger.startPoll(source.name, parts.duty);
    emit({ type: 'poll-started', source: source.name, poll: id });
    requireSameOrigin(source, await ledger.recordOrigin(source.name, source.origin));
    const listing = await source.list(await ledger.listingMark(source.name), reading.signal);
    if (listing.kind === 'changed') await recordListing(parts, id, { listing, reading }, progress);
    const end = endOf(listing);
    const summary = await ledger.finishPoll(id, end);
    for (const event of finished(source.name, id, end, summary, clock.monotonicMs() - startMs)) emit(event);
    reportRejected(parts, id, summary);
    return undefined;
  } catch (error) {
    return await fail(parts, id, error, progress, clock.monotonicMs() - startMs);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function endOf(listing: Awaited<ReturnType<Source['list']>>) {
  const { httpStatus } = listing;
  if (listing.kind === 'unchanged')
    return { status: 'unchanged' as const, bytes: listing.bytes, httpStatus, mark: listing.mark };
  return { status: 'success' as const, httpStatus, ...listing.end() };
}

function finished(
  source: string,
  poll: PollId,
  end: ReturnType<typeof endOf>,
  summary: PollSummary,
  durationMs: number,
): Event[] {
  const { listed, new: fresh, changed, rejected, listedBefore: before } = summary;
  const status = summary.status === 'unchanged' ? 'unchanged' : 'success';
  const { bytes } = end;
  const counts = { listed, new: fresh, changed, rejected, bytes, durationMs: Math.round(durationMs) };
  const events: Event[] = [{ type: 'poll-finished', source, poll, status, ...counts }];
  if (listed === 0 && before > 0) events.push({ type: 'listing-emptied', source, poll, before });
  else if (hasShrunk({ leads_listed: listed, listed_before: before }))
    events.push({ type: 'listing-shrunk', source, poll, listed, before });
  return events;
}

function reportRejected({ source, emit, rejections }: PollParts, poll: PollId, summary: PollSummary): void {
  const { rejected, rejectedFor: reasons, rejectedForOthers: others } = summary;
  const repeated = rejections.take(summary);
  if (rejected > 0)
    emit({ type: 'leads-rejected', source: source.name, poll, rejected, reasons, others, repeated });
}

async function fail(
  { source, ledger }: PollParts,
  poll: PollId | undefined,
  error: unknown,
  progress: Progress,
  durationMs: number,
): Promise<PollFailure> {
  const { code, reason, hint, httpStatus, retryAfterMs } = explain(error);
  const { listed, new: fresh, changed, rejected } = progress;
  const status = listed > 0 ? ('partial' as const) : ('failed' as const);
  if (poll !== undefined) {
    await ledger
      .finishPoll(poll, { status, httpStatus, error: pollError({ code, reason }) })
      .catch((second: unknown) => {
        // The ledger cannot write, which may be the failure itself. The start of the next poll marks this poll as failed.
        if (!(second instanceof LedgerError)) throw second;
      });
  }
  const recorded = { listed, new: fresh, changed, rejected, bytes: 0 };
  const report: FailureReport = {
    type: 'poll-failed',
    source: source.name,
    poll,
    status,
    code,
    reason,
    hint,
    recorded,
    durationMs: Math.round(durationMs),
  };
  return { code, reason, hint, retryAfterMs, report };
}

function explain(error: unknown) {
  if (error instanceof SourceError) {
    return {
      code: error.code,
      reason: error.message,
      hint: error.hint,
      httpStatus: error.httpStatus,
      retryAfterMs: error.retryAfterMs,
    };
  }
  if (error instanceof LedgerError) {
    return {
      code: `ledger-${error.code}`,
      reason: error.message,
      hint: error.hint,
      httpStatus: undefined,
      retryAfterMs: undefined,
    };
  }
  // An unexpected error. Its message is not shown because it may contain a lead's data.
  const name = error instanceof Error ? error.name : typeof error;
  return {
    code: 'unexpected',
    reason: `The poll failed in an unexpected way (${name}).`,
    hint: 'This is a fault in leadsync: please report it.',
    httpStatus: undefined,
    retryAfterMs: undefined,
  };
}
