import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

/** A request to the storage: what it asks for stands in the parameters of its address. */
export interface Asked {
  readonly method: string;
  readonly key: string;
  readonly query: URLSearchParams;
}

/** A status and a body, for a request that the test answers itself. */
export type Answer = readonly [status: number, body: string];

/** Answers a request itself, or leaves it to the storage. */
export type Answers = (asked: Asked) => Answer | undefined;

/** A storage that keeps of each object its size, asks for no keys, and gives the answers that a test chooses. */
export interface AnsweringStorage {
  /** What the configuration of an export says of it. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly asked: readonly Asked[];
}

const BUCKET = 'exports';

export const isListing = ({ method, query }: Asked) => method === 'GET' && query.has('list-type');
export const isUploadsListing = ({ method, query }: Asked) => method === 'GET' && query.has('uploads');
export const isAbort = ({ method, query }: Asked) => method === 'DELETE' && query.has('uploadId');
export const isObject = ({ method, query }: Asked) =>
  method === 'GET' && !query.has('list-type') && !query.has('uploads');

/** Returns a storage on this machine, which ends with the test. */
export async function anAnsweringStorage(answers: Answers): Promise<AnsweringStorage> {
  const asked: Asked[] = [];
  const sizes = new Map<string, number>();
  const server = createServer((request, response) => void answer(request, response));
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const [path = '', search] = (request.url ?? '').split('?'); // as it is: an URL would resolve `..` in a key
    const query = new URLSearchParams(search);
    const { length } = await buffer(request);
    const key = decodeURIComponent(path).slice(`/${BUCKET}/`.length);
    const one = { method: request.method ?? '', key, query };
    asked.push(one);
    const [status, body] = answers(one) ?? usual(one, length, sizes);
    const etag = request.method === 'PUT' && body === '' ? { etag: '"etag"' } : {};
    response.writeHead(status, { 'content-type': 'application/xml', ...etag }).end(body);
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const keys = { access_key_id: 'canary-id', secret_access_key: 'canary-key' };
  const options = {
    type: 's3',
    bucket: BUCKET,
    endpoint: `http://127.0.0.1:${port}`,
    path_style: true,
    ...keys,
  };
  return { options, asked };
}

function usual(asked: Asked, bytes: number, sizes: Map<string, number>): Answer {
  if (isListing(asked)) return [200, listing(sizes, asked.query.get('prefix') ?? '')];
  if (isUploadsListing(asked)) return [200, '<ListMultipartUploadsResult/>'];
  if (asked.method === 'DELETE') sizes.delete(asked.key);
  else sizes.set(asked.key, bytes);
  return [asked.method === 'DELETE' ? 204 : 200, ''];
}

function listing(sizes: ReadonlyMap<string, number>, prefix: string): string {
  const found = [...sizes].filter(([key]) => key.startsWith(prefix));
  const contents = found.map(([key, bytes]) => `<Contents><Key>${key}</Key><Size>${bytes}</Size></Contents>`);
  return `<ListBucketResult><IsTruncated>false</IsTruncated>${contents.join('')}</ListBucketResult>`;
}
