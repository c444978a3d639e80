import { expect, test } from 'vitest';
import { shrunkListing } from '../../src/status/problems/poll-checks.ts';
import { commandInText } from '../../src/status/problems/problem.ts';

const listing = { lastSuccessAt: new Date('2026-11-21T10:00:00Z'), listed: 3, listedLately: 60, leads: 60 };

test.each([
  ['client_credentials', "leadsync reads the listing with the client's own credentials.", false],
  ['authorization_code', "leadsync reads the listing with a person's login;", true],
  [undefined, 'If a person has logged in to the source,', true],
] as const)(
  'a shrunk listing with the grant %s says with whose access leadsync reads it',
  (grant, text, login) => {
    const problem = shrunkListing('north', listing, { command: commandInText }, grant);
    expect(problem?.nextStep).toContain(text);
    expect(problem?.nextStep.includes('`leadsync login north`')).toBe(login);
  },
);
