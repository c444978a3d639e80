import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { csvFiles } from '../../support/scene/scene.ts';
import type { WatchedRequest } from '../watched-receiver.ts';
import type { StoredFile } from '../watched-storage.ts';
import { parseExactly } from './exact-json.ts';
import type { MappedSink } from './form.ts';
import type { WrittenRow } from './table-history.ts';

/** A lead as it arrived at a sink in one attempt. Times are by `performance.now()`. */
export interface Arrival {
  readonly sink: MappedSink;
  readonly source: string;
  readonly lead: string;
  readonly delivery: string;
  /** The event, if the sink gets it beside the lead; otherwise the mapped lead has it. */
  readonly event: string | undefined;
  /** When the lead was first owed in this content, or earlier. */
  readonly owedMs: number;
  readonly atMs: number;
  /** When leadsync sent the lead; earlier than `atMs` if the receiver was slow to notice it. */
  readonly sentMs: number;
  /** What the mapping made of the lead; undefined if it arrived as received. */
  readonly values: Readonly<Record<string, unknown>> | undefined;
  /** Everything by which two arrivals of a delivery can differ. */
  readonly whole: string;
  /** What the destination had in the fields before; a field that the mapping lacks, or does not send, keeps it. */
  readonly kept?: Readonly<Record<string, unknown>>;
  /** The lead's JSON as received, if the sink has it. */
  readonly raw?: string;
}

/** An event in the body of a webhook. */
interface Event {
  readonly id?: string;
  readonly type: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly source: string;
}

/** Returns the leads in the requests of a webhook. */
export function arrivedByWebhook(sink: MappedSink, requests: readonly WatchedRequest[]): Arrival[] {
  return requests.flatMap((watched) => {
    const { headers, body } = watched.request;
    const whole = parseExactly(body.toString()) as Event & { readonly events?: readonly Event[] };
    const own = String(headers['webhook-id']);
    const events = whole.events ?? [whole];
    return events.map((event) => ({
      sink,
      source: event.source,
      lead: String(event.data['id']),
      delivery: event.id ?? own,
      event: event.type.replace('lead.', ''),
      owedMs: observed(Date.parse(event.timestamp)),
      atMs: watched.atMs,
      sentMs: watched.sentMs,
      values: 'form' in event.data ? event.data : undefined,
      whole: JSON.stringify(event),
    }));
  });
}

/** Returns the CSV files in a folder. */
export function filesIn(folder: string): StoredFile[] {
  return csvFiles(folder).map((name) => {
    const file = join(folder, name);
    const atMs = observed(statSync(file).mtimeMs);
    return { name, content: readFileSync(file), atMs, sentMs: atMs };
  });
}

/** Returns the leads in CSV files. */
export function arrivedInFiles(sink: MappedSink, files: readonly StoredFile[]): Arrival[] {
  return files.flatMap(({ content, atMs, sentMs }) => {
    const rows: Record<string, string>[] = parse(content, { columns: true });
    return rows.map((row) => {
      const { _leadsync_source: source = '', _leadsync_delivery_id: delivery = '', _leadsync_raw: raw } = row;
      const own = Object.entries(row).filter(([column]) => !column.startsWith('_leadsync_'));
      return {
        sink,
        source,
        lead: row['_leadsync_lead_id'] ?? row['id'] ?? '',
        delivery,
        event: undefined,
        owedMs: observed(Date.parse(row['_leadsync_first_seen_at'] ?? '')),
        atMs,
        sentMs,
        // An empty cell stands for a field that the lead lacks, because another mapping of the file has it.
        values: row['form'] ? Object.fromEntries(own.filter(([, cell]) => cell !== '')) : undefined,
        // Without the name: a batch that leadsync halves, because its attempts never end, continues in two files.
        whole: JSON.stringify(row),
        ...(raw ? { raw } : {}),
      };
    });
  });
}

/** Returns the leads that were written to a table. */
export function arrivedInTable(sink: MappedSink, history: readonly WrittenRow[]): Arrival[] {
  const before = new Map<string, { readonly version: number; readonly filled: Arrival['kept'] }>();
  return history.flatMap((row) => {
    const { source, lead, version, hash, raw } = row;
    const former = before.get(`${source}:${lead}`) ?? { version: 0, filled: {} };
    // A column is added for all rows, so an empty one says nothing.
    const filled = Object.fromEntries(Object.entries(row.fields).filter(([, value]) => value !== null));
    before.set(`${source}:${lead}`, { version, filled });
    const whole = JSON.stringify(filled);
    const isMapped = whole !== JSON.stringify(former.filled);
    // A repeat, or the same content as received.
    if (!isMapped && former.version === version) return [];
    return [
      {
        sink,
        source,
        lead,
        delivery: isMapped
          ? String(filled['delivery'])
          : [sink, source, lead, version, hash.slice(0, 8)].join(':'),
        event: undefined,
        owedMs: observed(row.firstSeenAt),
        atMs: observed(row.at),
        sentMs: observed(row.at),
        values: isMapped ? filled : undefined,
        kept: former.filled ?? {},
        whole,
        raw,
      },
    ];
  });
}

/** Returns a time of day as this process counts time, by `performance.now()`. */
export function observed(epochMs: number): number {
  return epochMs - (Date.now() - performance.now());
}
