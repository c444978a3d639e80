import type { ColumnKind, CopiedTable } from '../../contract/ledger-copy.ts';

const KINDS: Readonly<Record<string, ColumnKind>> = { t: 'text', i: 'integer', f: 'flag', at: 'time' };

/** Returns a table. `columns` are names with a kind: `t`ext, `i`nteger, `f`lag, or time (`at`). */
function table(name: string, key: string, columns: string, inSqlite = name): CopiedTable {
  const named = columns.trim().split(/\s+/);
  return {
    name,
    inSqlite,
    key: key.split(' '),
    columns: named.map((column) => {
      const [title = '', kind = ''] = column.split(':');
      return [title, KINDS[kind] as ColumnKind];
    }),
  };
}

/**
 * The tables that a copy of a ledger takes along, in the order in which they are copied. What is missing here, a copy loses: a test compares this
 * with both schemas.
 */
export const COPIED_TABLES: readonly CopiedTable[] = [
  table(
    '_sources',
    'source',
    'source:t mark:t complete_at:i complete_poll:i first_listed_at:i origin:t config:t leads:i listed:i current:i rejected:i',
  ),
  table(
    '_sinks',
    'sink_no',
    'sink_no:i sink:t named:t active:f events:t backfill:f owed_through:i backfill_to:i health:t config:t place:t former:t mapping_no:i',
  ),
  table('_mappings', 'mapping_no', 'mapping_no:i text:t'),
  table(
    '_leads',
    'source id',
    'source:t id:i version_no:i first_no:i version:i hash:t last_listed_at:i erased_no:i',
  ),
  table(
    '_versions',
    'version_no',
    `version_no:i source:t id:i version:i poll_id:i valid_from:i first_seen_at:i changed_fields:t hash:t raw:t service_slug:t created_at:i
     readable:t safe_raw:t`,
  ),
  table(
    '_deliveries',
    'delivery_no',
    `delivery_no:i version_no:i sink_no:i replay:i event:t state:t reason:t attempts:i excused:i owed_at:i first_attempt_at:i last_attempt_at:i
     next_attempt_at:i refused_at:i retried_at:i settled_at:i unsure_at:i batch_no:i after_no:i mapping_no:i bound:i reissued:i was_left_out:i
     discarded:i ref:t`,
  ),
  table(
    '_batches',
    'batch_no',
    'batch_no:i sink_no:i created_at:i lease:i leased_until:i holder:t lost:i mapping_no:i',
  ),
  table(
    '_attempts',
    'attempt_no',
    'attempt_no:i delivery_no:i batch_no:i started_at:i duration_ms:i outcome:t http_status:i error:t answer:t times:i last_at:i',
  ),
  table(
    '_polls',
    'poll_id',
    `poll_id:i source:t started_at:at finished_at:at status:t leads_listed:i leads_new:i leads_changed:i leads_rejected:i bytes:i
     http_status:i error:t`,
    'polls',
  ),
  table(
    '_rejected_leads',
    'rejected_id',
    `rejected_id:i source:t poll_id:i last_poll_id:i position:i lead_id:i reason:t path:t resolved_at:at hash:t raw:t`,
    'rejected_leads',
  ),
  table('_presence', 'presence_no', 'presence_no:i source:t id:i last_listed_at:i noted_at:i'),
  table('_listing_sizes', 'source day', 'source:t day:i most:i'),
  table('_erased', 'erased_no', 'erased_no:i source:t id:i erased_at:i finished_at:i kept_out:i'),
  table(
    '_replays',
    'replay_no',
    'replay_no:i sink_no:i asked_at:i touched_at:i source:t since:i until:i through:i bound:i owed:i left_out:i chosen:t',
  ),
  table('_clock_set_back', 'step_no', 'step_no:i from_at:i to_at:i'),
  table('_sink_activity', 'sink_no from_at', 'sink_no:i from_at:i sums:t'),
  table('_sink_holds', 'hold_no', 'hold_no:i sink_no:i kind:t began_at:i ended_at:i times:i reason:t'),
  // In SQLite, `key_no` numbers the changes for mirrors, and the time is unknown for keys of old ledgers.
  table('_client_keys', 'source id', 'source:t id:i created_at:i client_key:t keyed_at:i'),
];

/** The tables in which SQLite never gives a number twice, even if the row is gone. */
export const COUNTED_TABLES: readonly string[] = ['_batches', '_polls', '_mappings', '_presence'];
