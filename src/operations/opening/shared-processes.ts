import type { KnownProcess, Machines } from '../../ledger/contract/machines.ts';
import type { Processes } from './processes.ts';

/** What this process has seen of the others on the ledger. */
interface Others {
  readonly all: readonly KnownProcess[];
  of(holder: string): KnownProcess | undefined;
  isDead(holder: string): boolean;
}

/**
 * The processes of a ledger on which several machines may work. Those of this data directory are known to be dead as soon as they end, by their lock
 * files; the others when they were not seen for a lease.
 */
export class SharedProcesses implements Processes {
  readonly #here: Processes;
  readonly #others: Others;
  readonly #machines: Pick<Machines, 'remove'>;

  constructor(here: Processes, others: Others, machines: Pick<Machines, 'remove'>) {
    this.#here = here;
    this.#others = others;
    this.#machines = machines;
  }

  join(name: string): Promise<{ release(): void }> {
    return this.#here.join(name);
  }

  showAlive(): Promise<void> {
    return this.#here.showAlive();
  }

  async isDead(name: string): Promise<boolean> {
    return (await this.#here.isDead(name)) || this.#others.isDead(name);
  }

  async dead(now: Date): Promise<readonly string[]> {
    const names = new Set(await this.#here.dead(now));
    for (const { holder } of this.#others.all) if (await this.isDead(holder)) names.add(holder);
    return [...names];
  }

  /** Takes its duties from a dead process. Refuses if it has come back: nothing proves that a process of another machine has ended. */
  async expel(name: string): Promise<boolean> {
    const lastBeat = (await this.#here.isDead(name)) ? undefined : this.#others.of(name)?.lastBeat;
    return this.#machines.remove(name, lastBeat);
  }

  forget(name: string): Promise<void> {
    return this.#here.forget(name);
  }
}
