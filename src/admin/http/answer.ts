import type { FastifyReply, FastifyRequest } from 'fastify';
import { RequestError } from '../contract/request-error.ts';

/** Answers with a line of plain text. */
export function plain(reply: FastifyReply, code: number, text: string): FastifyReply {
  return reply.code(code).type('text/plain; charset=utf-8').send(`${text}\n`);
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Answers a browser with a page; absent where there are no pages: at a worker. */
    errorPage?: (
      request: FastifyRequest,
      reply: FastifyReply,
      refusal: RequestError,
    ) => Promise<FastifyReply>;
  }
}

/** Whether a person asks, by a browser, for something that is no part of the API. */
export function wantsPage({ headers, url }: FastifyRequest): boolean {
  return headers.accept?.includes('text/html') === true && !isOfApi(url);
}

/** Tells a refusal: as JSON where the API was asked, as a page to a browser, else as a line of text. */
export function sendError(
  request: FastifyRequest,
  reply: FastifyReply,
  refusal: RequestError,
): FastifyReply | Promise<FastifyReply> {
  const { status, code, message, hint } = refusal;
  const { errorPage } = reply.server;
  if (errorPage && wantsPage(request)) return errorPage(request, reply, refusal);
  if (!isOfApi(request.url)) return plain(reply, status, hint ? `${message} ${hint}` : message);
  return reply
    .code(status)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify({ error: { code, message, hint } }));
}

function isOfApi(url: string): boolean {
  return url.startsWith('/api/');
}

/** What an error comes to for whoever asked; one that nobody foresaw is told to `onFault`, and not to them. */
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
    'This failed inside leadsync.',
    'See its log, and please report it.',
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
  const said = faults.map(({ instancePath, message = 'is wrong' }) => {
    const name = instancePath.replace(/^\//, '').replaceAll('/', '.');
    return name ? `${name}: ${message}` : message;
  });
  const message = `The ${place} is wrong: ${said.join('; ')}.`;
  return new RequestError(400, 'wrong-request', message, '/api/v1/openapi.json describes what is taken.');
}

/** What Fastify itself refuses. */
const REQUEST_FAULTS: Readonly<Record<number, RequestError>> = {
  400: new RequestError(400, 'wrong-request', 'The body cannot be read.', 'It has to be JSON.'),
  413: new RequestError(413, 'too-large', 'The body is too large.', 'Send less at once.'),
  415: new RequestError(
    415,
    'wrong-type',
    'The body is of a type that is not taken.',
    'Send JSON, with content-type: application/json.',
  ),
  429: new RequestError(429, 'too-many', 'Too many tries.', 'Wait a minute.'),
};
