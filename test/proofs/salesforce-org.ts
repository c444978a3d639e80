import { API, VERSION } from '../../src/sinks/salesforce/salesforce-api.ts';
import { ToolFailure } from '../support/program/tool.ts';

const KEY = 'Leadsync_Key__c';
const PERMISSION_SET = 'leadsync';
const TIMEOUT_MS = 60_000;

/** How to reach an org: its My Domain address, and an external client app with the client credentials flow. */
export interface OrgAccess {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** An answer of Salesforce, whatever it says. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: what Salesforce answers is what is to be learned
  readonly body: any;
}

/** What of leadsync's preparations an org has, by the paths with which each can be deleted, in this order. */
type Preparations = readonly (readonly [what: string, path: string])[];

/** An org that a proof asks beside the sink, and everything that was written there. */
export class SalesforceOrg {
  /** Begins the name of everything that this run writes. */
  readonly run = `leadsync proof ${Date.now().toString(36)}`;
  readonly #access: OrgAccess;
  readonly #keys = new Set<string>();
  /** The paths of other records: leads without a key, and what leads were converted to. */
  readonly #records: string[] = [];
  readonly #underWay = new Set<Promise<unknown>>();
  #token: string | undefined;
  #prepared: Preparations | undefined;
  #isClosing = false;

  constructor(access: OrgAccess) {
    this.#access = access;
  }

  /** Returns an unused email address, a different one for each word. */
  email(word: string): string {
    return `${this.source}-${word}@example.com`;
  }

  /** The name of the source of the leads of this run, with which their keys begin. */
  get source(): string {
    return this.run.replaceAll(' ', '-');
  }

  /** Remembers the key of a lead for the end. */
  noteKey(key: string): void {
    this.#keys.add(key);
  }

  /** Remembers the leads without a key in an answer to several records, for the end. */
  noteLeads({ body }: Answer): void {
    for (const result of Array.isArray(body) ? body : [])
      if (result?.success === true) this.#records.push(`sobjects/Lead/${result.id}`);
  }

  /** Makes a request below the path of the REST API. @throws ToolFailure once `cleanUp` has begun */
  call(
    method: string,
    path: string,
    body?: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    return this.#underWayUntil(() => this.#send(method, path, body, headers));
  }

  /** Upserts leads by their keys, and remembers the keys. */
  upsert(
    leads: readonly Readonly<Record<string, unknown>>[],
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    for (const { [KEY]: key } of leads) this.noteKey(String(key));
    const records = leads.map((lead) => ({ attributes: { type: 'Lead' }, ...lead }));
    return this.call('PATCH', `composite/sobjects/Lead/${KEY}`, { allOrNone: false, records }, headers);
  }

  /** Returns the records of a query of one page. @throws ToolFailure */
  query(soql: string, resource = 'query'): Promise<readonly Record<string, string | null>[]> {
    return this.#underWayUntil(() => this.#query(soql, resource));
  }

  /** Returns the leads with these keys; by default, all those of this run. @throws ToolFailure */
  keyed(
    keys: readonly string[] = [...this.#keys],
    fields = 'Id',
  ): Promise<readonly Record<string, string | null>[]> {
    return keys.length === 0 ? Promise.resolve([]) : this.query(byKeys(keys, fields));
  }

  /** Converts a lead to a contact, which only the SOAP API does. Returns its answer. */
  convert(lead: string): Promise<Answer> {
    return this.#underWayUntil(() => this.#convert(lead));
  }

  async #convert(lead: string): Promise<Answer> {
    const statuses = 'SELECT MasterLabel FROM LeadStatus WHERE IsConverted = true';
    const [status] = await this.#query(statuses).catch(() => []);
    const answer = await fetch(`${this.#access.url}/services/Soap/u/${VERSION}`, {
      method: 'POST',
      headers: { 'content-type': 'text/xml', soapaction: '""' },
      signal: AbortSignal.timeout(TIMEOUT_MS),
      body: `<?xml version="1.0" encoding="UTF-8"?>
<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/" xmlns:p="urn:partner.soap.sforce.com">
<e:Header><p:SessionHeader><p:sessionId>${await this.#session()}</p:sessionId></p:SessionHeader></e:Header>
<e:Body><p:convertLead><p:leadConverts>
<p:convertedStatus>${status?.['MasterLabel'] ?? 'Closed - Converted'}</p:convertedStatus>
<p:doNotCreateOpportunity>true</p:doNotCreateOpportunity>
<p:leadId>${lead}</p:leadId>
</p:leadConverts></p:convertLead></e:Body></e:Envelope>`,
    });
    const body = await answer.text();
    // The account comes last: an account with contacts cannot be deleted everywhere.
    for (const [object, element] of Object.entries({ Contact: 'contactId', Account: 'accountId' })) {
      const id = new RegExp(`<${element}>(\\w{15,18})<`).exec(body)?.[1];
      if (id !== undefined) this.#records.push(`sobjects/${object}/${id}`);
    }
    return { status: answer.status, headers: answer.headers, body };
  }

  /** Remembers what the org has of leadsync's preparations before `setup`. @throws ToolFailure */
  async notePreparations(): Promise<void> {
    this.#prepared ??= await this.#underWayUntil(() => this.#preparations());
  }

  /** Removes everything that this run wrote. Returns what could not be removed. */
  async cleanUp(): Promise<readonly string[]> {
    this.#isClosing = true;
    await Promise.allSettled(this.#underWay); // they may still make records
    const left: string[] = [];
    const attempt = async <T>(what: string, work: () => Promise<T>): Promise<T | undefined> => {
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
        if (answer.status >= 300 && answer.status !== 404) left.push(`${what}: ${summary(answer)}`);
      });
    for (const path of this.#records) await remove(path, path);
    const keys = [...this.#keys];
    const leads =
      keys.length === 0
        ? []
        : await attempt('leads with the keys of this run', () => this.#query(byKeys(keys, 'Id')));
    for (const { Id } of leads ?? []) await remove(`lead ${Id}`, `sobjects/Lead/${Id}`);
    const before = this.#prepared;
    if (before === undefined) return left;
    const known = new Set(before.map(([, path]) => path));
    const now = await attempt('fields and permissions', () => this.#preparations());
    for (const [what, path] of now ?? []) if (!known.has(path)) await remove(what, path);
    return left;
  }

  /** Does some work, for which `cleanUp` waits. @throws ToolFailure once `cleanUp` has begun */
  async #underWayUntil<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isClosing) throw new ToolFailure('It was stopped.');
    const doing = work();
    this.#underWay.add(doing);
    try {
      return await doing;
    } finally {
      this.#underWay.delete(doing);
    }
  }

  async #preparations(): Promise<Preparations> {
    const sets = await this.#query(`SELECT Id FROM PermissionSet WHERE Name = '${PERMISSION_SET}'`);
    const found: (readonly [string, string])[] = [];
    for (const { Id } of sets) {
      const children = { PermissionSetAssignment: 'PermissionSetId', FieldPermissions: 'ParentId' };
      for (const [object, parent] of Object.entries(children))
        for (const child of await this.#query(`SELECT Id FROM ${object} WHERE ${parent} = '${Id}'`))
          found.push([`${object} ${child['Id']}`, `sobjects/${object}/${child['Id']}`]);
      found.push([`permission set ${PERMISSION_SET}`, `sobjects/PermissionSet/${Id}`]);
    }
    const custom = "SELECT Id, DeveloperName FROM CustomField WHERE TableEnumOrId = 'Lead'";
    for (const { Id, DeveloperName } of await this.#query(custom, 'tooling/query'))
      if (DeveloperName?.startsWith('Leadsync_'))
        found.push([`field ${DeveloperName}__c`, `tooling/sobjects/CustomField/${Id}`]);
    return found;
  }

  async #query(soql: string, resource = 'query'): Promise<readonly Record<string, string | null>[]> {
    const answer = await this.#send('GET', `${resource}?${new URLSearchParams({ q: soql })}`);
    if (answer.status !== 200) throw new ToolFailure(`${soql}: ${summary(answer)}`);
    return answer.body.records;
  }

  async #send(
    method: string,
    path: string,
    body?: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const response = await fetch(`${this.#access.url}${API}/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${await this.#session()}`,
        'content-type': 'application/json',
        ...headers,
      },
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: parsed(text) };
  }

  async #session(): Promise<string> {
    if (this.#token !== undefined) return this.#token;
    const { url, clientId, clientSecret } = this.#access;
    const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
    const response = await fetch(`${url}/services/oauth2/token`, {
      method: 'POST',
      body: new URLSearchParams(form),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const body = parsed(await response.text()) as { access_token?: string } | undefined;
    if (typeof body?.access_token !== 'string')
      throw new ToolFailure(
        `Salesforce gave no token: ${summary({ status: response.status, headers: response.headers, body })}`,
      );
    this.#token = body.access_token;
    return this.#token;
  }
}

/** Returns an answer in a few words, as a table takes it. */
export function summary({ status, body }: Answer): string {
  const fault = (Array.isArray(body) ? (body[0]?.errors?.[0] ?? body[0]) : body) ?? {};
  const { errorCode, statusCode, error, message, error_description } = typeof fault === 'object' ? fault : {};
  const code = errorCode ?? statusCode ?? error;
  const text = [code, message ?? error_description].filter(Boolean).join(': ');
  return `HTTP ${status}${text && ` ${text.replaceAll(/\s+/g, ' ').slice(0, 160)}`}`;
}

function byKeys(keys: readonly string[], fields: string): string {
  return `SELECT ${fields} FROM Lead WHERE ${KEY} IN (${keys.map((key) => `'${key}'`).join(',')})`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
