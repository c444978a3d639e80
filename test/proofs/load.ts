// 200,000 leads owed to three sinks at once: a webhook that works, a folder for CSV files that is gone, and a PostgreSQL
// that is slow. Is the webhook slowed by the other two? It gets the leads in parts, by turns with the others at rest and
// in trouble, and the rates are compared. Then all is healed: does the backlog of the folder come in order of age? How
// much memory did leadsync and Redis hold meanwhile? `npm run proof:load`; `-- --help` says more.
import { readdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startStub } from '../stub/stub.ts';
import { readOrExit } from '../support/program/command-line.ts';
import { openRunFolder } from '../support/program/run-folder.ts';
import { type Opened, runTool, ToolFailure } from '../support/program/tool.ts';
import type { CarrierName } from '../support/scene/scene.ts';
import { until } from '../support/time/until.ts';
import { BATCH, type Bench, openBench } from './load-bench.ts';
import { readOptions, USAGE } from './load-options.ts';

/** Delivered before anything is measured: the tables are made, the code is warm. */
const FIRST_LEADS = 2_000;
/** The webhook's backlog drains in so many parts, by turns without and with trouble at the others. */
const PARTS = 6;
/** How long each of PostgreSQL's transactions is held up. */
const SLOW_S = 2;
/** A rate over fewer leads says nothing. */
const FEWEST = 100;
const PATIENCE_MS = 900_000;
const LOOK_MS = 100;
/** A probe that gets through may be younger than what waits; the older ones come right behind, a batch or so later. */
const LIMITS = { slowed: 0.85, leadsyncMb: 450, jobs: 1_000, placesLate: 2 * BATCH };

/** How fast the webhook was in each of its parts, in leads/s. */
interface Rates {
  readonly calm: number[];
  readonly trouble: number[];
}

/** How the backlog of the folder came when it was back. */
interface Backlog {
  readonly leads: number;
  /** In leads/s. */
  readonly rate: number;
  /** Of the lead that had to wait longest for younger ones: for how many. */
  readonly placesLate: number;
}

const options = readOrExit(readOptions, USAGE);

await runTool(async (opened) => {
  let proven = true;
  for (const carrier of options.carriers) proven = (await prove(carrier, options.leads, opened)) && proven;
  return proven ? 0 : 1;
});

async function prove(carrier: CarrierName, leads: number, opened: Opened): Promise<boolean> {
  try {
    return await measure(carrier, leads, opened);
  } finally {
    await opened.closeAll();
  }
}

async function measure(carrier: CarrierName, leads: number, opened: Opened): Promise<boolean> {
  const folder = await opened.add(openRunFolder, (one) => one.close());
  // With an ETag, polls that find nothing new cost nothing.
  const stub = await opened.add(
    () => startStub({ leads: FIRST_LEADS, etag: 'strong' }),
    (one) => one.close(),
  );
  const bench = await openBench(folder.path, carrier, stub, opened);
  const first = async () => (await owed(bench)).every((n) => n === 0) && bench.receiver.leads === FIRST_LEADS;
  await until('the first leads are everywhere', first, 60_000);
  await slowDown(bench);
  for (const sink of ['crm', 'drop', 'warehouse']) await bench.command('pause', sink);
  say(`${carrier}: ${leads.toLocaleString('en')} leads become owed to three sinks`);
  stub.addLeads(leads);
  await until('all of it is owed', async () => (await owed(bench)).every((n) => n === leads), PATIENCE_MS);
  const rates = await drainByTurns(bench, leads);
  const order = await healAndDrain(bench, leads);
  await bench.daemon.kill();
  return report(carrier, leads, bench, rates, order);
}

/** Deliveries that are pending, by sink in the order of the configuration. Asked for now and then only. */
async function owed({ daemon }: Bench): Promise<number[]> {
  await sleep(LOOK_MS);
  const metrics = await (await fetch(`${daemon.adminUrl}/metrics`)).text();
  const pending = (sink: string) =>
    Number(new RegExp(`^leadsync_backlog_pending\\{.*sink="${sink}".*\\} (\\d+)$`, 'm').exec(metrics)?.[1]);
  return ['crm', 'drop', 'warehouse'].map(pending);
}

/** Makes every transaction of the PostgreSQL sink wait. */
async function slowDown({ query }: Bench): Promise<void> {
  await query(
    `CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(${SLOW_S}); RETURN NULL; END'`,
  );
  await query(
    'CREATE TRIGGER slow BEFORE INSERT ON leadsync.leads FOR EACH STATEMENT EXECUTE FUNCTION slow()',
  );
}

/** Lets the webhook drain, by turns with the others at rest and in trouble. Gives its rates, in leads/s. */
async function drainByTurns(bench: Bench, leads: number): Promise<Rates> {
  const { command, receiver, drop } = bench;
  const rates: Rates = { calm: [], trouble: [] };
  const from = receiver.arrivedMs.length;
  renameSync(drop, `${drop}.away`);
  await command('resume', 'crm');
  for (let part = 1; part <= PARTS; part++) {
    const trouble = part % 2 === 0;
    await Promise.all(['drop', 'warehouse'].map((sink) => command(trouble ? 'resume' : 'pause', sink)));
    const begun = receiver.arrivedMs.length;
    // Leads that arrived while the commands ran belong to no part.
    const end = begun + Math.ceil((from + leads - begun) / (PARTS - part + 1));
    if (end - begun < FEWEST)
      throw new ToolFailure('It was over before it could be measured: take more --leads.');
    await until('a part is drained', () => receiver.arrivedMs.length >= end, PATIENCE_MS);
    const tookMs = (receiver.arrivedMs[end - 1] ?? 0) - (receiver.arrivedMs[begun] ?? 0);
    const rate = (end - begun) / (tookMs / 1000);
    rates[trouble ? 'trouble' : 'calm'].push(rate);
    say(`  part ${part}: ${Math.round(rate)} leads/s, the others ${trouble ? 'down and slow' : 'at rest'}`);
  }
  return rates;
}

/** Brings the folder back and lets PostgreSQL run. */
async function healAndDrain(bench: Bench, leads: number): Promise<Backlog> {
  const { drop, query } = bench;
  const before = new Set(readdirSync(`${drop}.away`));
  const startMs = performance.now();
  await query('DROP TRIGGER slow ON leadsync.leads');
  renameSync(`${drop}.away`, drop);
  await until('the folder has its backlog', async () => (await owed(bench))[1] === 0, PATIENCE_MS);
  const rate = leads / ((performance.now() - startMs) / 1000);
  await until('nothing is owed', async () => (await owed(bench)).every((n) => n === 0), PATIENCE_MS);
  const ids = idsIn(drop, before);
  const oldestFirst = new Map(ids.toSorted((a, b) => a - b).map((id, place) => [id, place]));
  const placesLate = ids.reduce((most, id, place) => Math.max(most, place - (oldestFirst.get(id) ?? 0)), 0);
  return { placesLate, rate, leads: new Set(ids).size };
}

/** The ids in the files of a folder, those in `except` left out, in the order in which they were dropped. */
function idsIn(folder: string, except: ReadonlySet<string>): number[] {
  const files = readdirSync(folder).filter((name) => name.startsWith('leads-') && !except.has(name));
  const dropped = files.map((name) => ({ name, at: statSync(join(folder, name), { bigint: true }).mtimeNs }));
  return dropped
    .toSorted((a, b) => Number(a.at - b.at))
    .flatMap(({ name }) => [...readFileSync(join(folder, name), 'utf8').matchAll(/^(\d+),/gm)])
    .map(([, id]) => Number(id));
}

async function report(
  carrier: CarrierName,
  leads: number,
  { receiver, query, peaks }: Bench,
  { calm, trouble }: Rates,
  folder: Backlog,
): Promise<boolean> {
  const rows = Number((await query('SELECT count(*) AS rows FROM leadsync.leads'))[0]?.['rows']);
  const all = leads + FIRST_LEADS;
  const share = mean(trouble) / mean(calm);
  const complete =
    receiver.leads === all && receiver.arrivedMs.length === all && rows === all && folder.leads === leads;
  const ok =
    complete &&
    share >= LIMITS.slowed &&
    folder.placesLate <= LIMITS.placesLate &&
    peaks.leadsyncMb < LIMITS.leadsyncMb &&
    peaks.jobs < LIMITS.jobs;
  say(`${carrier}, ${leads.toLocaleString('en')} leads to each of three sinks:
  the webhook alone                  ${Math.round(mean(calm))} leads/s
  beside one down and one slow sink  ${Math.round(mean(trouble))} leads/s, ${share.toFixed(2)} of it (limit ${LIMITS.slowed})
  the folder, when it was back       ${Math.round(folder.rate)} leads/s; by age, none came more than ${folder.placesLate} places late (limit ${LIMITS.placesLate})
  arrived                            webhook ${receiver.leads} in ${receiver.arrivedMs.length} requests, folder ${folder.leads}, rows ${rows}
  leadsync held at the most          ${Math.round(peaks.leadsyncMb)} MB (limit ${LIMITS.leadsyncMb})
  ${carrier === 'bullmq' ? `Redis held at the most             ${peaks.redisMb.toFixed(1)} MB and ${peaks.jobs} jobs (limit ${LIMITS.jobs})\n  ` : ''}${ok ? 'as promised' : 'NOT as promised'}`);
  return ok;
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
