import type { Processes } from '../../../src/operations/opening/processes.ts';

/** Which processes of a run are alive or were killed. Outlives the simulated processes, as lock files do. */
export class SignsOfLife implements Processes {
  readonly #joined = new Set<string>();
  readonly #killed = new Set<string>();

  async join(name: string): Promise<{ release(): void }> {
    this.#joined.add(name);
    return { release: () => void this.#joined.delete(name) };
  }

  async showAlive(): Promise<void> {}

  async isDead(name: string): Promise<boolean> {
    return this.#killed.has(name);
  }

  async dead(): Promise<readonly string[]> {
    return [...this.#killed];
  }

  async forget(name: string): Promise<void> {
    this.#killed.delete(name);
  }

  /** Ends a process so that the others can tell, if it had joined. */
  kill(name: string): void {
    if (this.#joined.delete(name)) this.#killed.add(name);
  }
}
