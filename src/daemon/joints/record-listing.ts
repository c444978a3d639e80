import { setImmediate as turn } from 'node:timers/promises';
import type { ListedBlock, ListedElement, ListedItem } from '../../leads/listed-lead.ts';
import type { LedgerPolling } from '../../ledger/contract/ledger-polling.ts';
import type { PollId } from '../../ledger/contract/status-rows.ts';
import { reach } from '../../platform/process/failpoint.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { ChangedListing, Source } from '../../source/contract/source.ts';
import type { Emit } from '../../telemetry/events.ts';
import { type BlockGroup, groupBlocks } from './group-blocks.ts';

/** What the recording of a listing needs. */
export interface RecordingParts {
  readonly source: Pick<Source, 'name'>;
  readonly ledger: Pick<LedgerPolling, 'beginKnown' | 'record' | 'unknownElements'>;
  readonly clock: Clock;
  readonly emit: Emit;
  /**
   * Called after the ledger was asked to record leads, so that the claim of their deliveries can share the commit, and again after new or
   * changed leads were recorded, because new deliveries may then be owed.
   */
  readonly onOwed: () => void;
}

/**
 * Numbers of leads that a poll has listed and recorded so far, when it began, and when it last reported these numbers (`startMs` and
 * `reportedMs`, by the monotonic clock).
 */
export interface Progress {
  listed: number;
  new: number;
  changed: number;
  rejected: number;
  readonly startMs: number;
  reportedMs: number;
}

const PROGRESS_MS = 1_000;

/**
 * Records a changed listing block by block, and counts in `progress` what it has recorded. Reads a group of blocks while the ledger records the
 * previous one. If the ledger fails, aborts `reading`. @throws SourceError, LedgerError
 */
export async function recordListing(
  parts: RecordingParts,
  id: PollId,
  { listing, reading }: { listing: ChangedListing; reading: AbortController },
  progress: Progress,
): Promise<void> {
  let recording = Promise.resolve(false);
  let expectsNews = false;
  try {
    const idle = () => recording.catch(() => undefined); // the loop awaits it, too, and handles the rejection
    for await (const group of groupBlocks(listing.blocks, idle)) {
      const [first] = group;
      const ahead = expectsNews && !first.isRecognised ? readAhead(first) : undefined;
      expectsNews = await recording;
      reach('listing-read');
      recording = recordGroup(parts, id, group, ahead, progress);
      recording.catch((error: unknown) => reading.abort(error)); // the next await handles the rejection
      await turn(); // if the ledger runs in this thread, lets probes and deliveries run between blocks
    }
  } finally {
    await recording;
  }
}

/** Returns all items of a block; undefined if one of them cannot be read. */
function readAhead(block: ListedBlock): readonly ListedItem[] | undefined {
  const { items, fault } = readAll(block.elements());
  return fault === undefined ? items : undefined;
}

/**
 * Records a group of blocks. If the group is a single block that was read ahead, `ahead` holds all of its items. Returns whether this call recorded
 * the group's last block and all elements of that block were new, changed or rejected.
 */
async function recordGroup(
  parts: RecordingParts,
  id: PollId,
  group: BlockGroup,
  ahead: readonly ListedItem[] | undefined,
  progress: Progress,
): Promise<boolean> {
  const heads = group.map(({ hash, size }) => ({ hash, size }));
  const known = group[0].isRecognised ? await parts.ledger.beginKnown(id, heads) : 0;
  for (const { size } of group.slice(0, known)) progress.listed += size;
  let isNews = false;
  for (const block of group.slice(known)) isNews = await recordBlock(parts, id, { block, ahead }, progress);
  reportProgress(parts, id, progress);
  return isNews;
}

/**
 * Records a block. If all of its items were read ahead, passes them on in one call, without first asking the ledger which of them are
 * unknown. Returns whether all of its elements were new, changed or rejected, because those of the next blocks then probably are, too.
 */
async function recordBlock(
  { ledger, onOwed }: RecordingParts,
  id: PollId,
  { block, ahead }: { block: ListedBlock; ahead: readonly ListedItem[] | undefined },
  progress: Progress,
): Promise<boolean> {
  const { hash, size } = block;
  const { items, fault } = ahead ? { items: ahead } : readAll(await ledger.unknownElements(id, block));
  progress.listed += size;
  let news = 0;
  if (items.length > 0) {
    const recording = ledger.record(id, items, ahead && { hash, size });
    onOwed();
    const recorded = await recording;
    reach('recorded');
    progress.new += recorded.new;
    progress.changed += recorded.changed;
    progress.rejected += recorded.rejected;
    const owed = recorded.new + recorded.changed;
    news = owed + recorded.rejected;
    if (owed > 0) {
      onOwed();
      await turn(); // lets dispatch claim the deliveries before the poll writes again
    }
  }
  if (fault !== undefined) throw fault;
  return news === size;
}

/** Reads elements until one cannot be read. Returns the items before that element, and the fault, if any. */
function readAll(elements: readonly ListedElement[]): { items: readonly ListedItem[]; fault?: unknown } {
  const items: ListedItem[] = [];
  try {
    for (const element of elements) items.push(element.read());
  } catch (fault) {
    return { items, fault };
  }
  return { items };
}

function reportProgress({ clock, emit, source }: RecordingParts, poll: PollId, progress: Progress): void {
  const now = clock.monotonicMs();
  if (now - progress.reportedMs < PROGRESS_MS) return;
  progress.reportedMs = now;
  const leadsPerSecond = Math.round(progress.listed / ((now - progress.startMs) / 1000));
  const recorded = progress.new + progress.changed;
  emit({
    type: 'poll-progress',
    source: source.name,
    poll,
    listed: progress.listed,
    recorded,
    leadsPerSecond,
  });
}
