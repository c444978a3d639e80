import type { EventType } from '../../src/telemetry/events.ts';
import type { Daemon } from '../support/program/leadsync.ts';
import type { Scene } from '../support/scene/scene.ts';
import { until } from '../support/time/until.ts';

/** A sink in the output of `status --json`. */
export interface ToldSink {
  readonly sink: string;
  readonly state: string;
  readonly delivered: number;
  readonly pending: number;
  readonly dead: number;
  readonly held_reason: string | null;
  readonly probe_at: string | null;
  readonly paused_reason: string | null;
}

/** A source in the output of `status --json`. */
export interface ToldSource {
  readonly source: string;
  readonly leads: number;
  readonly leads_listed: number;
  readonly leads_rejected: number;
  readonly last_success_at: string | null;
  readonly last_poll: { readonly status: string; readonly error: string | null } | null;
}

/** A delivery in the output of `deliveries --json`. */
export interface ToldDelivery {
  readonly delivery_id: string;
  readonly lead_id: string;
  readonly sink: string;
  readonly state: string;
  readonly reason: string | null;
  readonly attempts: number;
}

/** Returns the output of `leadsync status`, by name. */
export async function statusOf(
  scene: Scene,
): Promise<{ sinks: Record<string, ToldSink>; sources: Record<string, ToldSource> }> {
  const told = await answerOf<{ sinks: ToldSink[]; sources: ToldSource[] }>(scene, 'status', '--json');
  return {
    sinks: Object.fromEntries(told.sinks.map((one) => [one.sink, one])),
    sources: Object.fromEntries(told.sources.map((one) => [one.source, one])),
  };
}

/** Returns the output of `leadsync deliveries`. */
export async function deliveriesOf(scene: Scene, ...filter: string[]): Promise<ToldDelivery[]> {
  const args = ['deliveries', '--json', '--limit', '100000', ...filter];
  return (await answerOf<{ deliveries: ToldDelivery[] }>(scene, ...args)).deliveries;
}

/** Runs a command and returns its output. @throws Error if it fails */
export async function mustRun(scene: Scene, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await scene.run(...args);
  if (code !== 0) throw new Error(`leadsync ${args.join(' ')} ended with ${code}: ${stderr}`);
  return stdout;
}

/** Returns the events of a type logged so far; `about` selects a sink, a source and so on. */
export function logged(
  { log }: Pick<Daemon, 'log'>,
  type: EventType,
  about: Readonly<Record<string, unknown>> = {},
): readonly Readonly<Record<string, unknown>>[] {
  const wanted = Object.entries(about);
  return log.filter((line) => line['event'] === type && wanted.every(([key, value]) => line[key] === value));
}

/** Waits for the first such event. @returns the event */
export function told(
  daemon: Pick<Daemon, 'log'>,
  type: EventType,
  about: Readonly<Record<string, unknown>> = {},
): Promise<Readonly<Record<string, unknown>>> {
  const what = `leadsync tells ${type} ${JSON.stringify(about)}`;
  return until(what, () => logged(daemon, type, about)[0], 60_000);
}

async function answerOf<Answer>(scene: Scene, ...args: string[]): Promise<Answer> {
  return JSON.parse(await mustRun(scene, ...args)) as Answer;
}
