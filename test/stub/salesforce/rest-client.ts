import type { SalesforceStub } from './salesforce-stub.ts';

/** An answer of the stub as a client sees it. */
export interface SeenAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed body; the text if it is no JSON, and undefined if there is none. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
  readonly body: any;
}

/** A client with a session of its own. */
export interface RestClient {
  readonly token: string;
  /** Sends a request to a path below `/services/data/v67.0`, or to one that begins with `/services`. */
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<SeenAnswer>;
  /** Upserts leads by `Leadsync_Key__c`. */
  upsert(
    leads: readonly object[],
    headers?: Record<string, string>,
    allOrNone?: boolean,
  ): Promise<SeenAnswer>;
  query(soql: string, headers?: Record<string, string>): Promise<SeenAnswer>;
}

/** Gets an access token by client credentials. */
export async function requestToken(
  stub: Pick<SalesforceStub, 'url' | 'clientId' | 'clientSecret'>,
  form: Record<string, string> = {},
): Promise<SeenAnswer> {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: stub.clientId,
    client_secret: stub.clientSecret,
    ...form,
  });
  return seen(await fetch(`${stub.url}/services/oauth2/token`, { method: 'POST', body }));
}

/** Opens a session and returns a client that uses it. */
export async function logIn(stub: SalesforceStub): Promise<RestClient> {
  const token = String((await requestToken(stub)).body.access_token);
  const send: RestClient['send'] = async (method, path, body, headers = {}) => {
    const url = path.startsWith('/services') ? path : `/services/data/v67.0/${path}`;
    return seen(
      await fetch(stub.url + url, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    );
  };
  return {
    token,
    send,
    upsert: (leads, headers, allOrNone = false) =>
      send(
        'PATCH',
        'composite/sobjects/Lead/Leadsync_Key__c',
        { allOrNone, records: leads.map((lead) => ({ attributes: { type: 'Lead' }, ...lead })) },
        headers,
      ),
    query: (soql, headers) => send('GET', `query?q=${encodeURIComponent(soql)}`, undefined, headers),
  };
}

/** Returns a lead with a key and what every lead must have. */
export function aSalesforceLead(key: string, fields: object = {}): object {
  return { Leadsync_Key__c: key, LastName: 'Doe', Company: '[not provided]', ...fields };
}

async function seen(response: Response): Promise<SeenAnswer> {
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true && text !== '';
  return {
    status: response.status,
    headers: response.headers,
    body: isJson ? JSON.parse(text) : text || undefined,
  };
}
