import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { stopProcess } from '../test/support/servers/server-process.ts';
import type { Behaviour } from './world/flaky-receiver.ts';

const portsSchema = z.object({ port: z.number(), receiverPort: z.number(), flakyPort: z.number() });
const arrivals = z.object({
  posts: z.number(),
  leads: z.number(),
  firstAt: z.number().optional(),
  lastAt: z.number().optional(),
});

const visits = z.object({
  requests: z.number(),
  accepted: z.number(),
  leads: z.number(),
  firstRequestAt: z.number().optional(),
  open: z.number(),
  mostOpen: z.number(),
});

/** The listing that a service serves. Its leads have consecutive ids. */
export interface Shown {
  readonly leads: number;
  /** The name of the service; default: `main`. */
  readonly name?: string;
  /** The first id; default: 1. */
  readonly first?: number;
  readonly etag?: boolean;
  /** Leads to add after each answer. */
  readonly growBy?: number;
  /** Delay of each answer. */
  readonly delayMs?: number;
}

/** The services and receivers that leadsync talks to, in a process of their own. */
export class World {
  readonly #url: string;
  readonly #close: () => Promise<void>;
  /** The URL of the receiver that accepts every request immediately. */
  readonly receiverUrl: string;
  /** The URL of the receiver that behaves as `behave` sets. */
  readonly flakyUrl: string;

  private constructor(ports: z.output<typeof portsSchema>, close: () => Promise<void>) {
    this.#url = `http://127.0.0.1:${ports.port}`;
    this.receiverUrl = `http://127.0.0.1:${ports.receiverPort}/hooks/leads`;
    this.flakyUrl = `http://127.0.0.1:${ports.flakyPort}/hooks/leads`;
    this.#close = close;
  }

  static async start(): Promise<World> {
    const child = fork(fileURLToPath(new URL('world/main.ts', import.meta.url)), [], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      // A process group of its own: Ctrl-C in the terminal must not stop it before the benchmark does.
      detached: true,
    });
    const [message] = await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(([code]) =>
        Promise.reject(new Error(`the benchmark's servers did not start (exit code ${code})`)),
      ),
    ]);
    return new World(portsSchema.parse(message), () => stopProcess(child, 'SIGTERM'));
  }

  /** Returns the `base_url` of a service. */
  baseUrl(name = 'main'): string {
    return `${this.#url}/${name}`;
  }

  /** Serves a new listing from now on. */
  async show({
    name = 'main',
    first = 1,
    etag = false,
    growBy = 0,
    delayMs = 0,
    leads,
  }: Shown): Promise<void> {
    await this.#command('show', { name, first, leads, etag, growBy, delayMs });
  }

  /**
   * Replaces the oldest lead of a service by a new one at the end of its listing. Resolves when a receiver has got the new lead, with
   * the ms since the last byte of the first listing with that lead was written.
   */
  async slide(name = 'main'): Promise<number> {
    return z.number().parse(await this.#command('slide', { name }));
  }

  /**
   * Changes every lead of a service whose id is a multiple of `every`. Resolves when the last byte of the first listing with the changes
   * was written, with that time in ms since 1970.
   */
  async change(every: number, name = 'main'): Promise<number> {
    return z.number().parse(await this.#command('change', { name, every }));
  }

  /** Sets how the flaky receiver answers, and resets its counts. */
  async behave(behaviour: Behaviour): Promise<void> {
    await this.#command('behave', behaviour);
  }

  /** Returns the counts of the flaky receiver since the last `behave`. Times are in ms since 1970. */
  async visits(): Promise<z.output<typeof visits>> {
    return visits.parse(await this.#command('visits', {}));
  }

  /** Returns when the flaky receiver had accepted that number of different leads, in ms since 1970; undefined until then. */
  async acceptedAt(leads: number): Promise<number | undefined> {
    return z
      .number()
      .nullable()
      .transform((at) => at ?? undefined)
      .parse(await this.#command('accepted', { leads }));
  }

  /** Returns the arrivals at the other receiver since the last `reset`. Times are in ms since 1970. */
  async arrivals(): Promise<z.output<typeof arrivals>> {
    return arrivals.parse(await this.#command('arrivals', {}));
  }

  /** Resets the arrivals. */
  async reset(): Promise<void> {
    await this.#command('reset', {});
  }

  close(): Promise<void> {
    return this.#close();
  }

  async #command(name: string, request: unknown): Promise<unknown> {
    const response = await fetch(`${this.#url}/control/${name}`, {
      method: 'POST',
      body: JSON.stringify(request),
    });
    return response.json();
  }
}
