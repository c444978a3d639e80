import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A request to the storage: what it asks for stands in the parameters of its address. */
export interface Asked {
  readonly method: string;
  readonly key: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly content: Buffer;
}

/**
 * What becomes of a request that the test answers itself: a status, a body and headers; or the connection is cut, before or after the
 * storage has done what it was asked for; or nothing is answered.
 */
export type Answer =
  | readonly [status: number, body: string, headers?: Readonly<Record<string, string>>]
  | 'cut'
  | 'done and cut'
  | 'silence';

/** Answers a request itself, or leaves it to the storage, now or after a while. */
export type Answers = (asked: Asked) => Answer | undefined | Promise<Answer | undefined>;

/** A storage that asks for no keys, knows `If-None-Match`, and gives the answers that a test chooses. */
export interface StorageServer {
  /** What the configuration of an export says of it. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly asked: readonly Asked[];
  /** The objects by key. */
  readonly objects: Map<string, Buffer>;
  close(): void;
}

const BUCKET = 'exports';

export const isListing = ({ method, query }: Asked) => method === 'GET' && query.has('list-type');
export const isUploadsListing = ({ method, query }: Asked) => method === 'GET' && query.has('uploads');
export const isAbort = ({ method, query }: Asked) => method === 'DELETE' && query.has('uploadId');
export const isObject = ({ method, query }: Asked) =>
  method === 'GET' && !query.has('list-type') && !query.has('uploads');

/** Starts a storage on this machine. */
export async function startStorage(answers: Answers = () => undefined): Promise<StorageServer> {
  const asked: Asked[] = [];
  const objects = new Map<string, Buffer>();
  const server = createServer((request, response) => void answer(request, response));
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const [path = '', search] = (request.url ?? '').split('?'); // as it is: an URL would resolve `..` in a key
    const query = new URLSearchParams(search);
    const content = await buffer(request);
    const key = decodeURIComponent(path).slice(`/${BUCKET}/`.length);
    const one = { method: request.method ?? '', key, query, headers: request.headers, content };
    asked.push(one);
    const chosen = await answers(one);
    if (chosen === 'silence') return;
    const [status, body, headers] =
      typeof chosen === 'object' ? chosen : chosen === 'cut' ? [] : usual(one, objects);
    if (chosen === 'cut' || chosen === 'done and cut') return void request.socket.destroy();
    response.writeHead(status ?? 500, { 'content-type': 'application/xml', ...headers }).end(body);
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const keys = { access_key_id: 'canary-id', secret_access_key: 'canary-key' };
  const options = {
    type: 's3',
    bucket: BUCKET,
    endpoint: `http://127.0.0.1:${port}`,
    path_style: true,
    ...keys,
  };
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { options, asked, objects, close };
}

type Usual = readonly [status: number, body: string | Buffer, headers?: Readonly<Record<string, string>>];

function usual(asked: Asked, objects: Map<string, Buffer>): Usual {
  const { method, key, query, content } = asked;
  if (isListing(asked)) return [200, listing(objects, query.get('prefix') ?? '')];
  if (isUploadsListing(asked)) return [200, '<ListMultipartUploadsResult/>'];
  if (method === 'POST' && query.has('uploads')) return [200, upload(key)];
  if (method === 'GET') return objectOf(asked, objects.get(key));
  if (method === 'DELETE') {
    objects.delete(key);
    return [204, ''];
  }
  if (asked.headers['if-none-match'] === '*' && objects.has(key))
    return [412, '<Error><Code>PreconditionFailed</Code></Error>'];
  if (!query.has('partNumber')) objects.set(key, content);
  return [200, '', { etag: '"etag"' }];
}

function objectOf({ headers }: Asked, content: Buffer | undefined): Usual {
  if (!content) return [404, '<Error><Code>NoSuchKey</Code></Error>'];
  const end = /^bytes=0-(\d+)$/.exec(headers.range ?? '')?.[1];
  if (end === undefined) return [200, content];
  if (content.length === 0) return [416, '<Error><Code>InvalidRange</Code></Error>'];
  return [206, content.subarray(0, Number(end) + 1)];
}

function upload(key: string): string {
  return `<InitiateMultipartUploadResult><Key>${key}</Key><UploadId>upload</UploadId></InitiateMultipartUploadResult>`;
}

function listing(objects: ReadonlyMap<string, Buffer>, prefix: string): string {
  const found = [...objects].filter(([key]) => key.startsWith(prefix));
  const contents = found.map(
    ([key, { length }]) => `<Contents><Key>${key}</Key><Size>${length}</Size></Contents>`,
  );
  return `<ListBucketResult><IsTruncated>false</IsTruncated>${contents.join('')}</ListBucketResult>`;
}
