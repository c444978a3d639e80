import type { FastifyReply, FastifyRequest } from 'fastify';
import { RequestError } from '../contract/request-error.ts';

/** Sends a response with one line of plain text. */
export function plain(reply: FastifyReply, code: number, text: string): FastifyReply {
  return reply.code(code).type('text/plain; charset=utf-8').send(`${text}\n`);
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Sends an error page to a browser. Absent in a worker, which has no pages. */
    errorPage?: (request: FastifyRequest, reply: FastifyReply, error: RequestError) => Promise<FastifyReply>;
  }
}

/** Whether a browser requests something outside the API. */
export function wantsPage({ headers, url }: FastifyRequest): boolean {
  return headers.accept?.includes('text/html') === true && !isOfApi(url);
}

/** Sends an error: as JSON under `/api/`, as a page to a browser, otherwise as a line of text. */
export function sendError(
  request: FastifyRequest,
  reply: FastifyReply,
  error: RequestError,
): FastifyReply | Promise<FastifyReply> {
  const { status, code, message, hint } = error;
  const { errorPage } = reply.server;
  if (errorPage && wantsPage(request)) return errorPage(request, reply, error);
  if (!isOfApi(request.url)) return plain(reply, status, hint ? `${message} ${hint}` : message);
  return reply
    .code(status)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify({ error: { code, message, hint } }));
}

function isOfApi(url: string): boolean {
  return url.startsWith('/api/');
}

/** Returns the error that the client sees. Reports an unexpected error to `onFault` and hides it from the client. */
export function requestErrorFor(error: unknown, onFault: (error: unknown) => void): RequestError {
  if (error instanceof RequestError) return error;
  const { statusCode, validation, validationContext } = error as FastifyFailure;
  if (validation) return wrongRequest(validation, validationContext);
  const known = statusCode === undefined ? undefined : REQUEST_FAULTS[statusCode];
  if (known) return known;
  onFault(error);
  return new RequestError(
    500,
    'internal',
    'leadsync failed with an internal error.',
    'See the log, and please report it.',
  );
}

interface FastifyFailure {
  readonly statusCode?: number;
  readonly validation?: readonly { readonly instancePath: string; readonly message?: string }[];
  readonly validationContext?: string;
}

const PLACES: Readonly<Record<string, string>> = {
  querystring: 'query',
  params: 'path',
  body: 'body',
};

function wrongRequest(faults: NonNullable<FastifyFailure['validation']>, context = ''): RequestError {
  const place = PLACES[context] ?? context;
  const reasons = faults.map(({ instancePath, message = 'is not valid' }) => {
    const name = instancePath.replace(/^\//, '').replaceAll('/', '.');
    return name ? `${name}: ${message}` : message;
  });
  const message = `The ${place} is not valid: ${reasons.join('; ')}.`;
  return new RequestError(400, 'wrong-request', message, '/api/v1/openapi.json describes the API.');
}

/** Errors that Fastify itself raises, by HTTP status. */
const REQUEST_FAULTS: Readonly<Record<number, RequestError>> = {
  400: new RequestError(400, 'wrong-request', 'The body cannot be parsed.', 'Send JSON.'),
  413: new RequestError(413, 'too-large', 'The body is too large.', 'Send less data in one request.'),
  415: new RequestError(
    415,
    'wrong-type',
    'The content type of the body is not supported.',
    'Send JSON with the header `content-type: application/json`.',
  ),
  429: new RequestError(429, 'too-many', 'Too many requests.', 'Wait a minute, then try again.'),
};
