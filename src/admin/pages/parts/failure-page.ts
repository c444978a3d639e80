import type { RequestError } from '../../contract/request-error.ts';
import type { Failure } from './site.ts';

/** Returns the error page for a failed request. Replaces texts for API clients with texts for readers of pages. */
export function failureFor({ status, code, message, hint }: RequestError): Failure {
  return { title: TITLES[status] ?? OTHER_TITLE, what: message, next: hint, status, ...PAGE_TEXTS[code] };
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad request',
  403: 'Forbidden',
  404: 'Not found',
  413: 'Request too large',
  421: 'Wrong host name',
  429: 'Too many requests',
};
const OTHER_TITLE = 'Request failed';

const PAGE_TEXTS: Readonly<Record<string, Partial<Omit<Failure, 'status'>>>> = {
  'no-role': { title: 'You have no role yet' },
  'nothing-here': {
    title: 'Page not found',
    what: 'There is no page at this address.',
    next: 'Use the menu, or see `/api/v1/openapi.json` for the API.',
  },
  'wrong-method': {
    title: 'Method not allowed',
    what: 'Nothing was done: this address does not support the method of the request.',
    next: 'Go back to the page and use its buttons.',
  },
};
