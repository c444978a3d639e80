import type { Processes } from '../../../src/operations/opening/processes.ts';

/** Which processes of a run are alive or were killed. Outlives the simulated processes, as lock files do. */
export class SignsOfLife implements Processes {
  readonly #killed = new Set<string>();

  async join(name: string): Promise<{ release(): void }> {
    this.#killed.delete(name);
    return { release: () => undefined };
  }

  async deadAmong(names: readonly string[]): Promise<readonly string[]> {
    return names.filter((name) => this.#killed.has(name));
  }

  async dead(): Promise<readonly string[]> {
    return [...this.#killed];
  }

  async forget(name: string): Promise<void> {
    this.#killed.delete(name);
  }

  /** Ends a process so that the others can tell. */
  kill(name: string): void {
    this.#killed.add(name);
  }
}
