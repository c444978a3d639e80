import { HEALTHY } from '../../leads/sink-health.ts';
import {
  type DeclaredSink,
  type DeclaredSource,
  isNameTaken,
  type LastDeclaration,
} from '../../ledger/contract/declaration.ts';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import {
  decodeHealth,
  encodeHealth,
  freeNameInIds,
  nameTaken,
} from '../../ledger/rules/delivering/sink-row.ts';
import { DUTY_LEASE_MS } from '../../ledger/rules/machines/lease-times.ts';
import { allSinks, countedSinks, findSink, type Sink } from '../database/sinks.ts';
import { statement, texts } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';

/** How the duty to poll a source begins. */
const POLL = 'poll:';

/**
 * Makes these sinks active, and those of other living processes stay so, under the owing lock: a machine with an old configuration must not take the sinks
 * of the others away. Leads that were listed while a sink was not active become the backfill of that sink. `holder` is the process that declares them.
 * @throws LedgerError `name-taken` if a sink cannot be renamed
 */
export async function declareSinks(
  tx: Transaction,
  sinks: readonly DeclaredSink[],
  holder: string,
): Promise<void> {
  tx.requireOwingLock();
  const newest = (await tx.first(NEWEST_VERSION))?.no ?? 0;
  await tx.rows(LOCK_ALL);
  const others = await declaredElsewhere(tx, holder);
  for (const sink of sinks) await renameFormer(tx, sink, sinks, others.sinks);
  const known = new Map((await allSinks(tx)).map((row) => [row.name, row]));
  for (const sink of sinks) {
    const row = known.get(sink.name);
    known.delete(sink.name);
    if (row) await redeclare(tx, row, sink, newest);
    else await add(tx, sink, newest);
  }
  for (const row of known.values())
    if (row.active && !others.sinks.has(row.name)) await retire(tx, row, newest);
  for (const sink of sinks) await mapTo(tx, sink);
  for (const sink of sinks) await moveTo(tx, sink);
}

/** Returns the sinks and sources that other living processes have. */
async function declaredElsewhere(tx: Transaction, holder: string) {
  const rows = await tx.rows(LIVING, [holder, tx.now, DUTY_LEASE_MS]);
  const wanted = rows.flatMap(({ wants }) => JSON.parse(wants) as string[]);
  return {
    sinks: new Set(rows.flatMap(({ sinks }) => JSON.parse(sinks) as string[])),
    sources: wanted.filter((duty) => duty.startsWith(POLL)).map((duty) => duty.slice(POLL.length)),
  };
}

async function add(tx: Transaction, sink: DeclaredSink, newest: number): Promise<void> {
  const named = freeNameInIds(
    sink.name,
    (await allSinks(tx)).map(({ nameInIds }) => nameInIds),
  );
  const { name, events, backfill, config = null } = sink;
  await tx.run(INSERT, [name, events.join(), backfill, newest, encodeHealth(HEALTHY), named, config]);
}

async function redeclare(tx: Transaction, row: Sink, sink: DeclaredSink, newest: number): Promise<void> {
  const backfillTo = row.active ? row.backfillTo : newest;
  const config = sink.config ?? row.config ?? null;
  const { events, backfill } = sink;
  await tx.run(REDECLARE, [row.sinkNo, true, events.join(), backfill, row.owedThrough, backfillTo, config]);
}

async function retire(tx: Transaction, row: Sink, newest: number): Promise<void> {
  // If the sink is declared again, an unfinished backfill continues where it stopped.
  const owedThrough = row.owedThrough < row.backfillTo ? row.owedThrough : newest;
  const { events, backfill, config = null, sinkNo } = row;
  await tx.run(REDECLARE, [sinkNo, false, events.join(), backfill, owedThrough, newest, config]);
}

/**
 * Renames a sink, unless its old name is still declared or nothing is left to rename (see `isNameTaken`). The ids of its deliveries keep the old
 * name, because receivers remember these ids.
 */
async function renameFormer(
  tx: Transaction,
  { name, formerly }: DeclaredSink,
  all: readonly DeclaredSink[],
  elsewhere: ReadonlySet<string>,
): Promise<void> {
  if (formerly === undefined || all.some((sink) => sink.name === formerly)) return;
  const [taken, former] = [await findSink(tx, name), await findSink(tx, formerly)];
  if (taken === undefined && elsewhere.has(formerly))
    throw new LedgerError(
      'name-taken',
      `The sink ${formerly} cannot become ${name}, because another leadsync on this ledger still has a sink ${formerly}.`,
      `Stop all others whose configuration has ${formerly}, then start one with the new name.`,
    );
  if (taken === undefined) await tx.run(RENAME, [name, formerly]);
  else if (former && isNameTaken(taken, former)) throw nameTaken(name, formerly);
}

async function mapTo(tx: Transaction, { name, mapping }: DeclaredSink): Promise<void> {
  if (mapping !== undefined) await tx.run(ADD_MAPPING, [mapping]);
  await tx.run(MAP, [name, mapping ?? null]);
}

/** Records the destination of a sink. If it has changed, keeps the former one with its period. */
async function moveTo(tx: Transaction, { name, place }: DeclaredSink): Promise<void> {
  const row = place === undefined ? undefined : await tx.first(PLACE, [name]);
  if (place === undefined || !row || row.place === place) return;
  const former = JSON.parse(row.former) as [place: string, since: number, until: number][];
  const health = decodeHealth(row.health);
  const isMoved = row.place !== null;
  const after = row.place === null ? former : [...former, [row.place, former.at(-1)?.[2] ?? 0, tx.now]];
  const renewed = isMoved ? { ...health, renewedAt: new Date(tx.now) } : health;
  await tx.run(MOVE, [name, place, JSON.stringify(after), encodeHealth(renewed)]);
}

/** Declares the sources that are configured. Those of other living processes stay declared. */
export async function declareSources(
  tx: Transaction,
  sources: readonly DeclaredSource[],
  holder: string,
): Promise<void> {
  await tx.rows(LOCK_SOURCES);
  const names = texts(sources.map(({ name }) => name));
  const others = await declaredElsewhere(tx, holder);
  await tx.run(UNDECLARE, [texts([...sources.map(({ name }) => name), ...others.sources])]);
  await tx.run(CONFIGURE, [names, texts(sources.map(({ config }) => config))]);
}

/** Returns what was declared last. */
export async function lastDeclaration(tx: Transaction): Promise<LastDeclaration> {
  const sources = await tx.rows(SOURCES);
  const sinks = [];
  for (const { name, active, nameInIds, config, counts, owedThrough, health } of await countedSinks(tx)) {
    const missed = active ? 0 : ((await tx.first(MISSED, [owedThrough]))?.missed ?? 0);
    const { pending, dead } = counts;
    sinks.push({ name, active, nameInIds, config, pending, dead, missed, quota: health.quota });
  }
  return {
    sources: sources.map(({ config, origin, ...row }) => ({
      ...row,
      config: config ?? undefined,
      origin: origin ?? undefined,
    })),
    sinks,
  };
}

const LIVING = statement<{ sinks: string; wants: string }>(
  'living-processes',
  'SELECT p.sinks, p.wants FROM _processes p WHERE p.holder <> $1 AND abs($2::bigint - p.seen_at) < $3',
);
const NEWEST_VERSION = statement<{ no: number }>(
  'newest-version',
  'SELECT coalesce(max(version_no), 0) AS no FROM _versions',
);
const LOCK_ALL = statement('lock-sinks', 'SELECT 1 FROM _sinks ORDER BY sink_no FOR UPDATE');
const INSERT = statement(
  'add-sink',
  `INSERT INTO _sinks (sink, active, events, backfill, owed_through, backfill_to, health, named, config) VALUES ($1, true, $2, $3, 0, $4, $5, $6, $7)`,
);
const REDECLARE = statement(
  'redeclare-sink',
  'UPDATE _sinks SET active = $2, events = $3, backfill = $4, owed_through = $5, backfill_to = $6, config = $7 WHERE sink_no = $1',
);
const RENAME = statement(
  'rename-sink',
  'UPDATE _sinks SET named = coalesce(named, sink), sink = $1 WHERE sink = $2',
);
const ADD_MAPPING = statement(
  'add-mapping',
  'INSERT INTO _mappings (text) SELECT $1 WHERE NOT EXISTS (SELECT 1 FROM _mappings WHERE text = $1)',
);
const MAP = statement(
  'map-sink',
  'UPDATE _sinks SET mapping_no = (SELECT mapping_no FROM _mappings WHERE text = $2) WHERE sink = $1',
);
const PLACE = statement<{ place: string | null; former: string; health: string }>(
  'place-of-sink',
  'SELECT place, former, health FROM _sinks WHERE sink = $1',
);
const MOVE = statement('move-sink', 'UPDATE _sinks SET place = $2, former = $3, health = $4 WHERE sink = $1');
const LOCK_SOURCES = statement('lock-all-sources', 'SELECT 1 FROM _sources ORDER BY source FOR UPDATE');
const UNDECLARE = statement(
  'undeclare',
  'UPDATE _sources SET config = NULL WHERE source <> ALL ($1::text[])',
);
const CONFIGURE = statement(
  'configure-sources',
  `INSERT INTO _sources (source, config) SELECT * FROM unnest($1::text[], $2::text[]) AS g (source, config) ORDER BY g.source
   ON CONFLICT (source) DO UPDATE SET config = excluded.config`,
);
const SOURCES = statement<{ name: string; config: string | null; leads: number; origin: string | null }>(
  'declared-sources',
  'SELECT source AS name, config, leads, CASE WHEN leads > 0 THEN origin END AS origin FROM _sources ORDER BY source',
);
const MISSED = statement<{ missed: number }>(
  'missed',
  'SELECT count(*) AS missed FROM _leads WHERE version_no > $1',
);
