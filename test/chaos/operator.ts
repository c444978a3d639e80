import { runLeadsync } from '../support/program/leadsync.ts';
import { keyOf, type Scene } from '../support/scene/scene.ts';

/** An operator at the command line. Records which replays were requested, because those repeats are intended. */
export class Operator {
  /** Every replay that the command reported, as `sink source:lead`. */
  readonly replayed: string[] = [];
  /** Replays with an unknown outcome, because the command failed. */
  readonly maybeReplayed: string[] = [];
  readonly faults: string[] = [];
  /** Everything that the commands printed. */
  written = '';
  readonly #scene: Scene;
  readonly #excuse: (sinceMs: number) => string | undefined;

  /** @param excuse returns why a command may have failed since then, by `performance.now()`, if there is a reason */
  constructor(scene: Scene, excuse: (sinceMs: number) => string | undefined) {
    this.#scene = scene;
    this.#excuse = excuse;
  }

  /** Runs a command to its end. Returns how it ended if it failed. */
  async run(...args: string[]): Promise<string | undefined> {
    const startMs = performance.now();
    const { code, signal, stdout, stderr } = await runLeadsync([...args, '-c', this.#scene.configFile]);
    this.written += stdout + stderr;
    if (code === 0) return undefined;
    const how = `${signal ?? code}: ${stderr.trim().split('\n')[0]}`;
    // 1 means that something was not done, and 69 that something is unavailable; both are to be expected here.
    const understood = code === 1 || code === 69;
    if (!understood && this.#excuse(startMs) === undefined)
      this.faults.push(`leadsync ${args.join(' ')} ended with ${how}`);
    return how;
  }

  /** Replays one of the served leads, at the fraction `place` of the list. */
  async replay(sink: string, place: number): Promise<string | undefined> {
    const served = this.#scene.served();
    const chosen = served[Math.floor(place * served.length)];
    if (chosen === undefined) return 'nothing was served yet';
    const { source, lead } = chosen;
    const failed = await this.run('replay', '--sink', sink, '--source', source, '--lead', lead);
    (failed === undefined ? this.replayed : this.maybeReplayed).push(`${sink} ${keyOf(chosen)}`);
    return failed;
  }
}
