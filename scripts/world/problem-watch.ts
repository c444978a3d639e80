import type { Trouble } from './timetable.ts';

/** How often the problems are read. */
const EVERY_MS = 1_000;

/** Sends a request to the API of leadsync. Returns the answer. @throws Error on any status but success */
export type Ask = (method: 'GET' | 'POST', path: string, body?: object) => Promise<unknown>;

/** Asks the API of a running leadsync with a token. */
export function apiOf(adminUrl: string, token: string): Ask {
  return async (method, path, body) => {
    const answer = await fetch(`${adminUrl}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path} was answered with ${answer.status}`);
    return answer.json();
  };
}

/** Follows the problems that leadsync reports. */
export class ProblemWatch {
  readonly #ask: Ask;
  readonly #onChange: (change: 'begins' | 'ends', problem: string) => void;
  #now: ReadonlySet<string> = new Set();
  #timer: NodeJS.Timeout | undefined;

  /** `onChange` gets each problem as `sink_held (crm)`. */
  constructor(ask: Ask, onChange: (change: 'begins' | 'ends', problem: string) => void) {
    this.#ask = ask;
    this.#onChange = onChange;
  }

  /** Begins to follow. */
  start(): void {
    this.#timer = setTimeout(() => void this.#look().finally(() => this.#timer && this.start()), EVERY_MS);
  }

  /** Ends it. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Whether leadsync reports no problem now. */
  get isWell(): boolean {
    return this.#now.size === 0;
  }

  /** Whether leadsync reports the problem now. */
  has(trouble: Trouble): boolean {
    return this.#now.has(nameOf(trouble));
  }

  async #look(): Promise<void> {
    const overview = await this.#ask('GET', '/overview').catch(() => undefined);
    // It ends at this moment, or is too busy to answer.
    if (overview === undefined || this.#timer === undefined) return;
    const { problems } = overview as { readonly problems: readonly { code: string; about: string | null }[] };
    const found = new Set(problems.map(nameOf));
    for (const problem of found.difference(this.#now)) this.#onChange('begins', problem);
    for (const problem of this.#now.difference(found)) this.#onChange('ends', problem);
    this.#now = found;
  }
}

function nameOf({ code, about }: { readonly code: string; readonly about: string | null }): string {
  return about === null ? code : `${code} (${about})`;
}
