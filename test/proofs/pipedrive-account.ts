import { setTimeout as sleep } from 'node:timers/promises';
import { ToolFailure } from '../support/program/tool.ts';

/** Time after which a request that met a limit is made again, in ms. */
const PAUSE_MS = 3_000;
const TIMEOUT_MS = 60_000;
/** What may lie between the clocks of this machine and of Pipedrive, in ms. */
const CLOCKS_MS = 300_000;

/** An answer of Pipedrive, whatever it says. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: what Pipedrive answers is what is to be learned
  readonly body: any;
}

type Owner = 'personFields' | 'dealFields';

/** A company that a proof asks beside the sink, and everything that was written there. */
export class PipedriveAccount {
  /** Begins the name of every person that this run makes. */
  readonly run = `leadsync proof ${Date.now().toString(36)}`;
  readonly #url: string;
  readonly #token: string;
  readonly #since = new Date(Date.now() - CLOCKS_MS).toISOString().replace(/\.\d+/, '');
  /** The fields that were there before, once they are known. */
  readonly #before = new Map<Owner, ReadonlySet<string>>();
  readonly #underWay = new Set<Promise<Answer>>();
  #isClosing = false;

  constructor({ url, token }: { readonly url: string; readonly token: string }) {
    this.#url = url;
    this.#token = token;
  }

  /** Returns an unused email address, a different one for each word. */
  email(word: string): string {
    return `${this.run.replaceAll(' ', '-')}-${word}@example.com`;
  }

  /** Makes a request. Waits and repeats it if it meets a limit. @throws ToolFailure once `cleanUp` has begun */
  async call(method: string, path: string, body?: object): Promise<Answer> {
    if (this.#isClosing) throw new ToolFailure('It was stopped.');
    const sending = this.#send(method, path, body);
    this.#underWay.add(sending);
    try {
      return await sending;
    } finally {
      this.#underWay.delete(sending);
    }
  }

  /** Makes a person of this run. @returns its id @throws ToolFailure */
  async makePerson(more: object = {}): Promise<number> {
    const answer = await this.call('POST', '/api/v2/persons', { name: this.run, ...more });
    const id = answer.body?.data?.id;
    if (typeof id !== 'number') throw new ToolFailure(`Pipedrive made no person: ${summary(answer)}`);
    return id;
  }

  /** Remembers which fields are there, before the first is made. */
  async noteFields(): Promise<void> {
    for (const owner of ['personFields', 'dealFields'] as const)
      this.#before.set(owner, new Set((await this.#fields(owner)).map(({ field_code: code }) => code)));
  }

  /** Returns the code of a custom field of deals; undefined if there is none of this name. */
  async codeOf(name: string): Promise<string | undefined> {
    return (await this.#fields('dealFields')).find(({ field_name }) => field_name === name)?.field_code;
  }

  /** Returns the persons of this run. */
  async persons(): Promise<readonly number[]> {
    const found = await this.#all(`/api/v2/persons?updated_since=${encodeURIComponent(this.#since)}`);
    return found.filter(({ name }) => String(name).startsWith(this.run)).map(({ id }) => Number(id));
  }

  /** Returns the leads and deals of the persons of this run, as paths. */
  async records(): Promise<readonly string[]> {
    const paths: string[] = [];
    for (const person of await this.persons())
      for (const [list, one] of [
        ['/api/v1/leads', '/api/v1/leads'],
        ['/api/v1/leads/archived', '/api/v1/leads'],
        ['/api/v2/deals', '/api/v2/deals'],
      ] as const)
        for (const { id } of await this.#all(`${list}?person_id=${person}`)) paths.push(`${one}/${id}`);
    return paths;
  }

  /** Removes everything that this run wrote. @returns what could not be removed */
  async cleanUp(): Promise<readonly string[]> {
    this.#isClosing = true;
    await Promise.allSettled(this.#underWay); // they may still make records
    const left: string[] = [];
    const attempt = async <Result>(
      what: string,
      work: () => Promise<Result>,
    ): Promise<Result | undefined> => {
      try {
        return await work();
      } catch (error) {
        left.push(`${what}: ${(error as Error).message}`);
        return undefined;
      }
    };
    const remove = (what: string, path: string) =>
      attempt(what, async () => {
        const answer = await this.#send('DELETE', path);
        if (answer.status >= 300 && answer.status !== 404 && answer.status !== 410)
          throw new Error(summary(answer));
      });
    for (const path of (await attempt('leads and deals', () => this.records())) ?? [])
      await remove(path, path);
    for (const id of (await attempt('persons', () => this.persons())) ?? [])
      await remove(`person ${id}`, `/api/v2/persons/${id}`);
    for (const [owner, before] of this.#before)
      for (const { field_name: name, field_code: code } of (await attempt(owner, () =>
        this.#fields(owner),
      )) ?? [])
        if (/^leadsync /.test(name) && !before.has(code))
          await remove(`field ${name}`, `/api/v2/${owner}/${code}`);
    return left;
  }

  #fields(owner: Owner) {
    return this.#all(`/api/v2/${owner}`) as Promise<{ field_name: string; field_code: string }[]>;
  }

  /** Returns the items of a list. */
  async #all(path: string): Promise<Readonly<Record<string, unknown>>[]> {
    const items: Readonly<Record<string, unknown>>[] = [];
    const join = path.includes('?') ? '&' : '?';
    for (let place: string | undefined = ''; place !== undefined; ) {
      const answer = await this.#send('GET', `${path}${join}limit=500${place}`);
      if (answer.status >= 300) throw new ToolFailure(summary(answer));
      items.push(...(answer.body?.data ?? []));
      const { next_cursor: cursor, pagination } = answer.body?.additional_data ?? {};
      const start = pagination?.next_start;
      place = cursor ? `&cursor=${encodeURIComponent(cursor)}` : start ? `&start=${start}` : undefined;
    }
    return items;
  }

  async #send(method: string, path: string, body?: object): Promise<Answer> {
    for (let attempt = 1; ; attempt += 1) {
      const response = await fetch(`${this.#url}${path}`, {
        method,
        headers: { 'x-api-token': this.#token, 'content-type': 'application/json' },
        signal: AbortSignal.timeout(TIMEOUT_MS),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (response.status !== 429 || attempt === 3)
        return { status: response.status, headers: response.headers, body: parsed(text) };
      await sleep(PAUSE_MS);
    }
  }
}

/** Returns an answer in a few words, as a table takes it. */
export function summary({ status, body }: Answer): string {
  const { error, error_info: info, code } = typeof body === 'object' && body !== null ? body : {};
  const text = [code, error, status === 400 ? info : undefined].filter(Boolean).join(': ');
  return `HTTP ${status} ${text.replaceAll(/\s+/g, ' ').replaceAll(';', ',').slice(0, 160)}`.trim();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
