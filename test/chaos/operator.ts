import { runLeadsync } from '../support/program/leadsync.ts';
import { keyOf, type Scene, type SinkName } from '../support/scene/scene.ts';

/** Somebody at the command line. Remembers which replays were asked for, since those are wanted repeats. */
export class Operator {
  /** Every replay that the command said it has made, as `sink source:lead`. */
  readonly replayed: string[] = [];
  /** Those of which nobody knows, because the command failed. */
  readonly maybeReplayed: string[] = [];
  readonly faults: string[] = [];
  /** Everything that the commands printed. */
  written = '';
  readonly #scene: Scene;
  readonly #excuse: (sinceMs: number) => string | undefined;

  /** `excuse` says why a command may have failed since then, by `performance.now()`, where there is a reason. */
  constructor(scene: Scene, excuse: (sinceMs: number) => string | undefined) {
    this.#scene = scene;
    this.#excuse = excuse;
  }

  /** Runs a command to its end. Gives how it ended where it did not succeed. */
  async run(...args: string[]): Promise<string | undefined> {
    const startMs = performance.now();
    const { code, signal, stdout, stderr } = await runLeadsync([...args, '-c', this.#scene.configFile]);
    this.written += stdout + stderr;
    if (code === 0) return undefined;
    const how = `${signal ?? code}: ${stderr.trim().split('\n')[0]}`;
    // 1 says that something was not done and 69 that something is away, both of which are to be expected here.
    const understood = code === 1 || code === 69;
    if (!understood && this.#excuse(startMs) === undefined)
      this.faults.push(`leadsync ${args.join(' ')} ended with ${how}`);
    return how;
  }

  /** Replays one of the leads that were served, `place` of the way through them. */
  async replay(sink: SinkName, place: number): Promise<string | undefined> {
    const served = this.#scene.served();
    const chosen = served[Math.floor(place * served.length)];
    if (chosen === undefined) return 'nothing was served yet';
    const { source, lead } = chosen;
    const failed = await this.run('replay', '--sink', sink, '--source', source, '--lead', lead);
    (failed === undefined ? this.replayed : this.maybeReplayed).push(`${sink} ${keyOf(chosen)}`);
    return failed;
  }
}
