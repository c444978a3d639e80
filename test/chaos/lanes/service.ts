import type { Chance } from '../../simulation/chance.ts';
import type { ListingMisbehaviourName, Stub, TokenFaultName } from '../../stub/stub.ts';
import { type Deed, oneOf, spells } from '../deed.ts';

/** New leads get ids from here on; old leads that appear late get lower ids. */
export const FIRST_ID = 100_000;

/** Readable and unreadable listings, without those that take longer than a run by themselves. */
const LISTINGS: readonly ListingMisbehaviourName[] = [
  'truncated',
  'truncated-chunked',
  'cut-short',
  'no-final-bracket',
  'reset',
  'reset-midway',
  'hang',
  'hang-midway',
  'trickle',
  'slow',
  'html',
  'bad-gateway',
  'no-content',
  'unasked-not-modified',
  'empty-body',
  'bom',
  'bad-utf8',
  'gzip-cut',
  'object',
  'trailing-text',
  'unauthorized',
  'redirect',
  'rate-limited',
  'server-error',
  'unavailable',
  'empty',
  'shrunk',
  'shuffled',
  'reversed',
  'repeated-id',
  'odd-ids',
  'broken-leads',
];

/** Without `unauthorized` and similar faults: after a wrong secret leadsync waits for minutes, as it should. */
const TOKENS: readonly TokenFaultName[] = [
  'down',
  'slow',
  'hang',
  'refresh-revoked',
  'rate-limited',
  'server-error',
  'bad-gateway',
  'not-json',
  'expires-missing',
  'expires-zero',
  'no-refresh-token',
  'answer-lost',
];

/** Draws the troubles of the service: leads arrive, from the start on, change and appear late; listings and tokens fail. */
export function drawService(chance: Chance, endMs: number): Deed<Stub>[] {
  const first = { atMs: 0, ...arriveAt(oneOf(chance, [5, 20])) };
  const later = spells(chance, endMs, [300, 2_500], [0, 0]).map(({ fromMs: atMs }) => ({
    atMs,
    ...oneOf(chance, [
      arrive,
      arrive,
      burst,
      change,
      change,
      fromThePast,
      changeBack,
      list,
      list,
      list,
      token,
      revoke,
    ])(chance),
  }));
  return [first, ...later];
}

type Drawn = Omit<Deed<Stub>, 'atMs'>;

function arrive(chance: Chance): Drawn {
  return arriveAt(oneOf(chance, [0, 5, 20, 50, 120]));
}

function arriveAt(perSecond: number): Drawn {
  return { text: `${perSecond} leads/s arrive from now on`, act: (stub) => stub.arrive(perSecond) };
}

function burst(chance: Chance): Drawn {
  const count = oneOf(chance, [1, 30, 300, 1_000]);
  return { text: `${count} leads at once`, act: (stub) => void stub.addLeads(count) };
}

function fromThePast(chance: Chance): Drawn {
  const from = chance.between(1, FIRST_ID - 100);
  const count = chance.between(1, 20);
  return {
    text: `${count} old leads from id ${from} on`,
    act: (stub) => void stub.addLeads(count, { from }),
  };
}

function change(chance: Chance): Drawn {
  // Mostly recent leads, which may still be pending.
  const places = Array.from({ length: oneOf(chance, [1, 20, 200]) }, () => 1 - chance.random() ** 4);
  return {
    text: `${places.length} leads change`,
    act: (stub) => {
      const ids = stub.served.ids();
      for (const place of places) {
        const id = ids[Math.ceil(place * ids.length) - 1];
        if (id !== undefined) stub.changeLead(id);
      }
    },
  };
}

function changeBack(chance: Chance): Drawn {
  const place = chance.random();
  return {
    text: 'a lead is again what it was before its last change',
    act: (stub) => {
      const ids = stub.served.ids().filter((id) => stub.served.newest(id) !== 1);
      const id = ids[Math.floor(place * ids.length)];
      if (id !== undefined) stub.changeLeadBack(id);
    },
  };
}

function list(chance: Chance): Drawn {
  const listing = oneOf(chance, LISTINGS);
  const times = chance.between(1, 2);
  return {
    text: `the next listing${times === 1 ? '' : 's'}: ${listing}`,
    act: (stub) => stub.misbehave({ listing, times, retryAfter: '2', delayMs: 400 }),
  };
}

function token(chance: Chance): Drawn {
  const fault = oneOf(chance, TOKENS);
  return {
    text: `the next token: ${fault}`,
    act: (stub) => stub.misbehave({ token: fault, times: 1, retryAfter: '2', delayMs: 400 }),
  };
}

function revoke(chance: Chance): Drawn {
  const which = oneOf(chance, ['all', 'refresh'] as const);
  return { text: `tokens revoked: ${which}`, act: (stub) => stub.revoke(which) };
}
