import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { runCommandLine } from '../../src/cli/run-command-line.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { judgeBy } from '../../src/delivery/judge.ts';
import type { Batch, LeadEvent } from '../../src/leads/delivery.ts';
import type { ListedItem } from '../../src/leads/listed-lead.ts';
import type { Outcome } from '../../src/leads/outcome.ts';
import type { Quota } from '../../src/leads/quota.ts';
import type { Ledger } from '../../src/ledger/contract/ledger.ts';
import { openLedger } from '../../src/ledger/sqlite-ledger.ts';
import { CompiledMappings } from '../../src/mapping/compiled-mappings.ts';
import { columnsOf, mapDelivery } from '../../src/mapping/map-delivery.ts';
import { type MappingDefinition, textOf } from '../../src/mapping/mapping-definition.ts';
import { holdDataDir } from '../../src/operations/opening/open-ledger.ts';
import { openSink } from '../../src/operations/opening/open-sinks.ts';
import { sinkTypes } from '../../src/sinks/registry.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { aListedLead } from '../support/scene/a-lead.ts';
import { HeldClock } from '../support/time/held-clock.ts';

/** What a command came to. */
export interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: Record<string, string>;
  /** What is typed, or where it comes from. */
  readonly stdin?: string | Readable;
  readonly onStdout?: (text: string) => void;
  /** Standard output is a terminal that is so wide. */
  readonly columns?: number;
  /** Standard error is a terminal that is so wide. */
  readonly stderrColumns?: number;
  /** Whether the terminal of standard output has colours. */
  readonly colours?: boolean;
}

const LEASE_MS = 60_000;
const EVERY_EVENT: readonly LeadEvent[] = ['created'];

/** A folder with a configuration, its ledger, and the command line to be used on them at a time that stands still. */
export class Install {
  readonly folder = tempDir();
  readonly clock = new HeldClock();
  readonly configFile = join(this.folder, 'leadsync.yaml');

  constructor(parts: Readonly<Record<string, unknown>> = {}) {
    this.configure(parts);
  }

  /** Writes the configuration anew, with these parts in place of the usual. */
  configure(parts: Readonly<Record<string, unknown>>): void {
    const config = {
      data_dir: './data',
      sources: { main: { base_url: 'http://127.0.0.1:9', client_id: 'id', client_secret: 'canary-secret' } },
      sinks: {
        crm: {
          type: 'webhook',
          url: 'http://127.0.0.1:9/hook',
          secret: 'whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0',
        },
        drop: { type: 'csv', directory: './drop' },
      },
      admin: { listen: 'off' },
      ...parts,
    };
    writeFileSync(this.configFile, stringify(config));
  }

  /** Runs `leadsync ARGUMENT …` in this process. */
  async run(args: readonly string[], more: RunOptions = {}): Promise<Said> {
    const [stdout, stderr] = [
      new Written(more.onStdout, more.columns, more.colours),
      new Written(undefined, more.stderrColumns),
    ];
    const { clock } = this;
    const env = { LEADSYNC_CONFIG: this.configFile, ...more.env };
    const stdin = more.stdin instanceof Readable ? more.stdin : Readable.from([more.stdin ?? '']);
    const code = await runCommandLine(args, { stdout, stderr, stdin, env, clock, random: () => 0.5 });
    return { code, stdout: stdout.text, stderr: stderr.text };
  }

  /** The same, as the JSON that it printed. */
  async json(...args: string[]): Promise<unknown> {
    const { stdout, stderr, code } = await this.run([...args, '--json']);
    if (code !== 0) throw new Error(`leadsync ${args.join(' ')} exits with ${code}: ${stderr}`);
    return JSON.parse(stdout);
  }

  /** The ledger, made when missing, with the sinks `crm` and `drop` declared. Closed when the test is over. */
  async ledger(): Promise<Ledger> {
    const file = join(this.folder, 'data', 'ledger.db');
    const fresh = !existsSync(file);
    mkdirSync(join(this.folder, 'data'), { recursive: true });
    const judge = judgeBy(
      () => ({ scheduleMs: [5_000, 300_000], jitter: 0 }),
      () => 0.5,
    );
    const ledger = openLedger({ file, clock: this.clock, random: () => 0.5, judge, create: true });
    onTestFinished(() => ledger.close());
    if (fresh) {
      const sink = { events: EVERY_EVENT, backfill: true };
      await ledger.declareSinks([
        { name: 'crm', ...sink },
        { name: 'drop', ...sink },
      ]);
      for (const name of ['crm', 'drop']) while (!(await ledger.backfill(name)).done);
    }
    return ledger;
  }

  /** As if a leadsync were running: its lock is held until the test is over. */
  running(): this {
    const held = holdDataDir(join(this.folder, 'data'));
    onTestFinished(() => held.release());
    return this;
  }

  /** A ledger in which these leads were listed by one complete poll. */
  async listed(...ids: number[]): Promise<Ledger> {
    return this.recorded(ids.map((id, position) => aListedLead({ id }, position)));
  }

  async recorded(items: readonly ListedItem[]): Promise<Ledger> {
    const ledger = await this.ledger();
    const poll = await ledger.startPoll('main');
    await ledger.record(poll, items);
    await ledger.finishPoll(poll, { status: 'success', bytes: 10, httpStatus: 200, mark: undefined });
    return ledger;
  }
}

/** Attempts what is due for a sink, one delivery after the other, each with the outcome that `outcomeOf` gives its lead. */
export async function attemptDue(
  ledger: Ledger,
  sink: string,
  clock: HeldClock,
  outcomeOf: (lead: string) => Outcome,
  quota?: Quota | undefined,
): Promise<void> {
  const request = { sink, window: 100, max: 1, waitMs: 0, leaseMs: LEASE_MS };
  const { refs } = await ledger.claim(request);
  for (const ref of refs) {
    const batch = (await ledger.begin(ref, LEASE_MS))?.batch;
    if (!batch) continue;
    const outcomes = batch.deliveries.map(({ leadId }) => outcomeOf(String(leadId)));
    await ledger.settle(ref, { outcomes, startedAt: clock.now(), durationMs: 15, quota });
  }
}

class Written {
  text = '';
  readonly #onText: ((text: string) => void) | undefined;

  readonly isTTY: boolean;
  readonly columns: number;

  readonly #colours: boolean;

  constructor(onText?: (text: string) => void, columns?: number, colours = false) {
    this.#onText = onText;
    this.isTTY = columns !== undefined;
    this.columns = columns ?? 0;
    this.#colours = colours;
  }

  hasColors(): boolean {
    return this.#colours;
  }

  write(text: string): boolean {
    this.text += text;
    this.#onText?.(text);
    return true;
  }
}

/** Delivers what is due for a configured sink, with the fields of its mapping, by the sink's own code and in one batch. */
export async function deliverBySink(install: Install, ledger: Ledger, name: string): Promise<void> {
  const { sinks } = loadConfig(install.configFile, { sinkTypes, env: {} });
  const config = sinks.find((sink) => sink.name === name);
  if (!config) throw new Error(`there is no sink ${name}`);
  const sink = await openSink(config, install.clock);
  const request = { sink: name, window: 1, max: 1_000, waitMs: 0, leaseMs: LEASE_MS };
  for (const ref of (await ledger.claim(request)).refs) {
    const batch = (await ledger.begin(ref, LEASE_MS))?.batch;
    if (!batch) continue;
    const outcomes = await sink.deliver(mappedBatch(batch, config.mapping), new AbortController().signal);
    await ledger.settle(ref, { outcomes, startedAt: install.clock.now(), durationMs: 15 });
  }
  await sink.close();
}

function mappedBatch(batch: Batch, definition: MappingDefinition | undefined): Batch {
  if (!definition) return batch;
  const mappings = new CompiledMappings(() => undefined);
  const mapped = { ...batch, mapping: textOf(definition) };
  const deliveries = batch.deliveries.map((delivery) => {
    const one = mapDelivery(delivery, mapped, mappings);
    if (!('raw' in one)) throw new Error(one.reason);
    return one;
  });
  return { ...mapped, columns: columnsOf(deliveries, mapped, mappings), deliveries };
}
