import { onTestFinished } from 'vitest';
import { type PipedriveStub, type PipedriveStubOptions, startPipedriveStub } from './pipedrive-stub.ts';
import { type RouteName, routes } from './routes.ts';

/** What a request carries beside the token. */
export interface Call {
  readonly id?: number | string;
  readonly query?: Readonly<Record<string, string | number>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** An answer as a client reads it; `data` and `error` are those of its JSON. */
export interface Called {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed JSON; undefined if it is none. */
  readonly json: Readonly<Record<string, unknown>> | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads any property of any object
  readonly data: any;
  /** The cursor of the next page; null if there is none. */
  readonly nextCursor: string | null;
}

/** Sends a request to an operation of the stub. @throws TypeError if the connection was cut */
export async function call(stub: PipedriveStub, name: RouteName, request: Call = {}): Promise<Called> {
  const [method = '', path = ''] = name.split(' ');
  const url = new URL(`/api/${routes[name].version}${path.replace(/\{\w+\}/, String(request.id))}`, stub.url);
  for (const [key, value] of Object.entries(request.query ?? {})) url.searchParams.set(key, String(value));
  const answer = await fetch(url, {
    method,
    headers: { 'x-api-token': stub.token, 'content-type': 'application/json', ...request.headers },
    ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
    ...(request.signal === undefined ? {} : { signal: request.signal }),
  });
  const text = await answer.text();
  const json = answer.headers.get('content-type')?.startsWith('application/json')
    ? JSON.parse(text)
    : undefined;
  const nextCursor = json?.additional_data?.next_cursor ?? null;
  return { status: answer.status, headers: answer.headers, text, json, data: json?.data, nextCursor };
}

/** Starts a stub that lives as long as the test. */
export async function aStub(options: PipedriveStubOptions = {}): Promise<PipedriveStub> {
  const stub = await startPipedriveStub(options);
  onTestFinished(() => stub.close());
  return stub;
}

/** Stores a person. @returns the id */
export async function aPerson(stub: PipedriveStub, email = 'ada@mail.example'): Promise<number> {
  const body = { name: 'Ada Example', emails: [{ value: email, primary: true, label: 'work' }] };
  return (await call(stub, 'POST /persons', { body })).data.id;
}
