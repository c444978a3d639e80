import { setTimeout as sleep } from 'node:timers/promises';
import { type ObjectName, objectPath, VERSION } from '../../src/sinks/hubspot/hubspot-api.ts';
import { ToolFailure } from '../support/program/tool.ts';

/** The property by which the sink recognises its records. */
const KEY = 'leadsync_key';
const OBJECTS: readonly ObjectName[] = ['leads', 'deals', 'contacts'];
/** Time after which a request that met a limit is made again, in ms. */
const PAUSE_MS = 10_000;
const TIMEOUT_MS = 60_000;

/** An answer of HubSpot, whatever it says. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: what HubSpot answers is what is to be learned
  readonly body: any;
}

/** An account that a proof asks beside the sink, and everything that was written there. */
export class HubSpotAccount {
  /** Begins the name of everything that this run writes. */
  readonly run = `leadsync proof ${Date.now().toString(36)}`;
  readonly #url: string;
  readonly #token: string;
  readonly #records: { readonly object: ObjectName; readonly id: string }[] = [];
  readonly #keys = new Set<string>();
  readonly #properties: { readonly object: string; readonly name: string }[] = [];
  /** The objects whose group of properties this run makes, by whether it does. */
  readonly #groups = new Map<string, boolean>();
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

  async #send(method: string, path: string, body?: object): Promise<Answer> {
    for (let attempt = 1; ; attempt += 1) {
      const response = await fetch(`${this.#url}${path}`, {
        method,
        headers: { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json' },
        signal: AbortSignal.timeout(TIMEOUT_MS),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (response.status !== 429 || attempt === 3)
        return { status: response.status, headers: response.headers, body: parsed(text) };
      await sleep(PAUSE_MS);
    }
  }

  /** Makes a batch request, and remembers the records in its answer for the end. */
  async batch(object: ObjectName, verb: string, body: object): Promise<Answer> {
    const answer = await this.call('POST', objectPath(object, `batch/${verb}`), body);
    if (verb !== 'read') for (const { id } of answer.body?.results ?? []) this.#records.push({ object, id });
    return answer;
  }

  /** Makes a contact. @returns its id @throws ToolFailure */
  async makeContact(properties: Readonly<Record<string, string>>): Promise<string> {
    const answer = await this.batch('contacts', 'create', { inputs: [{ properties }] });
    const id = answer.body?.results?.[0]?.id;
    if (typeof id !== 'string') throw new ToolFailure(`HubSpot made no contact: ${summary(answer)}`);
    return id;
  }

  /** Returns the properties of a contact. */
  async contact(id: string, names: readonly string[]): Promise<Readonly<Record<string, string | null>>> {
    const answer = await this.batch('contacts', 'read', { inputs: [{ id }], properties: names });
    return answer.body?.results?.[0]?.properties ?? {};
  }

  /** Remembers the key of a lead that the sink delivers. */
  noteKey(key: string): void {
    this.#keys.add(key);
  }

  noteProperty(object: string, name: string): void {
    this.#properties.push({ object, name });
  }

  /** Remembers the group of leadsync's properties for the end, unless the account has it already. */
  async noteGroup(object: string): Promise<void> {
    if (this.#groups.has(object)) return;
    const { status } = await this.call('GET', groupPath(object));
    this.#groups.set(object, status === 404);
  }

  /** Returns the records of an object that have these keys; by default, all those of this run. */
  async keyed(object: ObjectName, keys: readonly string[] = [...this.#keys]): Promise<readonly string[]> {
    if (keys.length === 0) return [];
    const inputs = keys.map((id) => ({ id }));
    const body = { idProperty: KEY, inputs, properties: [KEY] };
    const answer = await this.#send('POST', objectPath(object, 'batch/read'), body);
    return (answer.body?.results ?? []).map(({ id }: { id: string }) => id);
  }

  /** Removes everything that this run wrote. @returns what could not be removed */
  async cleanUp(): Promise<readonly string[]> {
    this.#isClosing = true;
    await Promise.allSettled(this.#underWay); // they may still make records
    const left: string[] = [];
    const remove = async (what: string, request: () => Promise<Answer>) => {
      const answer = await request().catch((error: Error) => error);
      if (answer instanceof Error) left.push(`${what}: ${answer.message}`);
      else if (answer.status >= 300 && answer.status !== 404) left.push(`${what}: ${summary(answer)}`);
    };
    for (const object of OBJECTS) {
      const own = this.#records.filter((record) => record.object === object).map(({ id }) => id);
      const keyed = await this.keyed(object).catch((error: Error) => {
        left.push(`${object} with the keys of this run: ${error.message}`);
        return [];
      });
      for (const id of new Set([...own, ...keyed]))
        await remove(`${object} ${id}`, () =>
          object === 'contacts'
            ? this.#send('POST', objectPath(object, 'gdpr-delete'), { objectId: id })
            : this.#send('DELETE', objectPath(object, id)),
        );
    }
    for (const { object, name } of this.#properties.toReversed())
      await remove(`property ${name} of ${object}`, () =>
        this.#send('DELETE', `/crm/properties/${VERSION}/${object}/${name}`),
      );
    for (const [object, isOwn] of this.#groups)
      if (isOwn) await remove(`group of ${object}`, () => this.#send('DELETE', groupPath(object)));
    return left;
  }
}

/** Returns an answer in a few words, as a table takes it. */
export function summary({ status, body }: Answer): string {
  const fault = body?.errors?.[0] ?? body;
  const { category, message } = typeof fault === 'object' && fault !== null ? fault : {};
  const text = [category, message].filter(Boolean).join(': ').replaceAll(/\s+/g, ' ').slice(0, 160);
  return `HTTP ${status}${text && ` ${text}`}`;
}

function groupPath(object: string): string {
  return `/crm/properties/${VERSION}/${object}/groups/leadsync`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
