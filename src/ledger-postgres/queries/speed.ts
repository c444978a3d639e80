import type { Speed } from '../../ledger/contract/page-rows.ts';
import {
  type Arrival,
  MAX_SAMPLE,
  MAX_STEPPED,
  sampleOf,
  speedOf,
} from '../../ledger/rules/queries/speed.ts';
import { allSinks } from '../database/sinks.ts';
import { statement } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { IS_NEW_LEAD } from '../schema/delivery-sql.ts';

/** The leads of a source that were first seen at or after a time, in ms since 1970. */
interface Since {
  readonly source: string;
  readonly from: number;
}

/** Returns how fast each sink received the new leads that were first seen since a time. Measures a sample of about 1,000 leads. */
export async function speeds(tx: Transaction, since: Date): Promise<Speed[]> {
  const arrivals = await tx.rows(ARRIVALS, [await sampleSince(tx, since.getTime())]);
  const bySink = Map.groupBy(arrivals, ({ sinkNo }) => sinkNo);
  return (await allSinks(tx)).map(({ sinkNo, name }) => speedOf(name, bySink.get(sinkNo) ?? []));
}

/** Returns how fast new leads that were first seen since a time were delivered to one sink, as `speeds` does for all sinks. */
export async function speedOfSink(tx: Transaction, name: string, since: Date): Promise<Speed> {
  return (await speeds(tx, since)).find(({ sink }) => sink === name) ?? speedOf(name, []);
}

/** Returns versions that are spread evenly over the leads of each source, in every source with the same step. */
async function sampleSince(tx: Transaction, since: number): Promise<number[]> {
  const sources: (Since & { readonly leads: number })[] = [];
  for (const { source } of await tx.rows(SOURCES)) sources.push(await leadsSince(tx, source, since));
  const step = Math.ceil(sources.reduce((sum, { leads }) => sum + leads, 0) / MAX_SAMPLE);
  const sample: number[] = [];
  for (const { leads, source, from } of sources.filter((one) => one.leads > 0))
    if (leads >= MAX_STEPPED) sample.push(...(await sampleByNumber(tx, { source, from })));
    else sample.push(...(await tx.rows(EVERY_NTH, [source, from, step])).map(({ no }) => no));
  return sample;
}

/** Returns how many leads a source has since a time, up to `MAX_STEPPED`. If there are many, begins after its first import, whose leads are not new. */
async function leadsSince(
  tx: Transaction,
  source: string,
  since: number,
): Promise<Since & { readonly leads: number }> {
  const count = async (from: number) => (await tx.first(COUNT_SINCE, [source, from]))?.leads ?? 0;
  const leads = await count(since);
  if (leads <= MAX_SAMPLE) return { source, from: since, leads };
  const imported = (await tx.first(FIRST_IMPORT, [source]))?.finished_at;
  const from = imported === undefined ? since : Math.max(since, imported + 1);
  return { source, from, leads: await count(from) };
}

/** Returns versions that are spread evenly over those of all sources since a time. Most of them are of this source, because it has so many leads. */
async function sampleByNumber(tx: Transaction, { source, from }: Since): Promise<number[]> {
  const { first = null, last = null } = (await tx.first(RANGE, [source, from])) ?? {};
  return first === null || last === null ? [] : sampleOf(first, last);
}

const FIRSTS = 'FROM _versions v WHERE v.version = 1 AND v.source = $1 AND v.valid_from >= $2';

const SOURCES = statement<{ source: string }>('sources-to-measure', 'SELECT source FROM _sources');
const COUNT_SINCE = statement<{ leads: number }>(
  'count-first-versions',
  `SELECT count(*) AS leads FROM (SELECT 1 ${FIRSTS} LIMIT ${MAX_STEPPED}) n`,
);
const EVERY_NTH = statement<{ no: number }>(
  'every-nth-first-version',
  `SELECT n.version_no AS no FROM (SELECT v.version_no, row_number() OVER (ORDER BY v.valid_from, v.version_no) - 1 AS n ${FIRSTS}) n
   WHERE n.n % $3 = 0`,
);
/** When the first poll of a source ended, if it recorded leads. */
const FIRST_IMPORT = statement<{ finished_at: number }>(
  'first-import',
  `SELECT p.finished_at FROM _sources o
   CROSS JOIN LATERAL (SELECT v.poll_id FROM _versions v WHERE v.version = 1 AND v.source = o.source ORDER BY v.valid_from LIMIT 1) f
   JOIN _polls p ON p.poll_id = f.poll_id WHERE o.source = $1 AND p.finished_at IS NOT NULL AND p.started_at <= o.first_listed_at`,
);
/** The first version of a lead of a source since a time, and the last version of all. */
const RANGE = statement<{ first: number | null; last: number | null }>(
  'versions-since',
  `SELECT (SELECT v.version_no ${FIRSTS} ORDER BY v.valid_from, v.version_no LIMIT 1) AS first, (SELECT max(version_no) FROM _versions) AS last`,
);

// Each version is looked up by its key, and its deliveries by theirs: the condition on the state would offer the index of all that a sink was ever delivered.
const ARRIVALS = statement<Arrival>(
  'arrivals',
  `SELECT d.sink_no AS "sinkNo", v.first_seen_at AS seen, v.created_at AS created, d.settled_at AS delivered
   FROM unnest($1::bigint[]) AS n (no) CROSS JOIN LATERAL (SELECT * FROM _versions y WHERE y.version_no = n.no OFFSET 0) v
   JOIN _sources o ON o.source = v.source
   CROSS JOIN LATERAL (SELECT * FROM _deliveries y WHERE y.version_no = v.version_no OFFSET 0) d
   WHERE v.version = 1 AND d.state = 'delivered' AND ${IS_NEW_LEAD}`,
);
