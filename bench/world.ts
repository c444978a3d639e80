import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { stopProcess } from '../test/support/server-process.ts';

const ports = z.object({ port: z.number(), receiverPort: z.number() });
const arrivals = z.object({
  posts: z.number(),
  leads: z.number(),
  firstAt: z.number().optional(),
  lastAt: z.number().optional(),
});

/** A listing to be shown; its leads have consecutive ids. */
export interface Shown {
  readonly leads: number;
  /** The service's name; `main` when absent. */
  readonly name?: string;
  /** The first id; 1 when absent. */
  readonly first?: number;
  readonly etag?: boolean;
  /** New leads after each answer. */
  readonly growBy?: number;
  /** How long each answer is held back, in ms. */
  readonly delayMs?: number;
}

/** The service and the receiver around a leadsync, in a process of their own. */
export class World {
  readonly #url: string;
  readonly #close: () => Promise<void>;
  /** Where webhooks are taken. */
  readonly receiverUrl: string;

  private constructor(url: string, receiverUrl: string, close: () => Promise<void>) {
    this.#url = url;
    this.receiverUrl = receiverUrl;
    this.#close = close;
  }

  static async start(): Promise<World> {
    const child = fork(fileURLToPath(new URL('world/main.ts', import.meta.url)), [], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      // A Ctrl-C at the terminal reaches it only through us.
      detached: true,
    });
    const [message] = await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(([code]) => Promise.reject(new Error(`the servers ended at once (${code})`))),
    ]);
    const { port, receiverPort } = ports.parse(message);
    const close = () => stopProcess(child, 'SIGTERM');
    return new World(`http://127.0.0.1:${port}`, `http://127.0.0.1:${receiverPort}/hooks/leads`, close);
  }

  /** To be configured as `base_url`. */
  baseUrl(name = 'main'): string {
    return `${this.#url}/${name}`;
  }

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
   * Replaces a service's oldest lead by a new one at the end of its listing. Resolves when that one has arrived at the
   * receiver, with the ms since the last byte of the first listing that had it was written.
   */
  async slide(name = 'main'): Promise<number> {
    return z.number().parse(await this.#command('slide', { name }));
  }

  /** What has arrived at the receiver since the last reset. Times in ms since 1970. */
  async arrivals(): Promise<z.output<typeof arrivals>> {
    return arrivals.parse(await this.#command('arrivals', {}));
  }

  /** Forgets what has arrived. */
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
