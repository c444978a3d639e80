import type { RequestError } from '../../contract/request-error.ts';
import type { Failure } from './site.ts';

/** A refusal as a page tells it: where its own words are for programs, in words for whoever reads pages. */
export function failureFor({ status, code, message, hint }: RequestError): Failure {
  return { title: TITLES[status] ?? OTHER_TITLE, what: message, next: hint, status, ...WORDS[code] };
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'That could not be read',
  403: 'Not from there',
  404: 'Not there',
  413: 'Too large',
  421: 'Not under this name',
  429: 'Too many tries',
};
const OTHER_TITLE = 'That did not work';

const WORDS: Readonly<Record<string, Omit<Failure, 'status'>>> = {
  'nothing-here': {
    title: 'No such page',
    what: 'There is nothing at this address.',
    next: 'The menu above leads to every page. `/api/v1/openapi.json` describes the API.',
  },
  'wrong-method': {
    title: 'Not in this way',
    what: 'Nothing was done: this address is not asked in this way.',
    next: 'Go back to the page, and use its buttons.',
  },
};
