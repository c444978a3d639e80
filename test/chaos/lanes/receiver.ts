import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Chance } from '../../simulation/chance.ts';
import type { ReceivedRequest } from '../../support/servers/webhook-receiver.ts';
import { type Deed, lengthOf, oneOf, spells } from '../deed.ts';
import type { Parts } from '../parts.ts';
import type { Answer, WatchedReceiver } from '../watched-receiver.ts';

interface Manner {
  readonly text: string;
  readonly answer: Answer;
}

/** Draws the troubles of the webhook's receiver: periods of failure between periods in which it accepts everything. */
export function drawReceiver(chance: Chance, endMs: number): Deed<WatchedReceiver>[] {
  return spells(chance, endMs, [300, 4_000], [300, 1_500], [300, 6_000]).flatMap((spell) => {
    const { text, answer } = oneOf(chance, MANNERS)(chance);
    return [
      { atMs: spell.fromMs, text: `${text} for ${lengthOf(spell)}`, act: (it) => it.answerAlways(answer) },
      { atMs: spell.toMs, text: 'takes everything', act: (it) => it.takeAll() },
    ];
  });
}

/**
 * Draws the troubles of the receivers of split leads. They break a connection now and then even between the troubles, so that many batches
 * are attempted again after their mapping has changed.
 */
export function drawSplitReceivers(chance: Chance, endMs: number): Deed<Parts['split receivers']>[] {
  const usual = breaksSometimes(chance.between(3, 6));
  const behave = ({ text, answer }: Manner, atMs: number) => ({
    atMs,
    text,
    act: (receivers: Parts['split receivers']) => {
      for (const one of Object.values(receivers)) one.answerAlways(answer);
    },
  });
  const troubles = spells(chance, endMs, [1_000, 4_000], [300, 2_500]).flatMap((spell) => {
    const manner = oneOf(chance, UNSURE_MANNERS)(chance);
    const text = `${manner.text} for ${lengthOf(spell)}`;
    return [behave({ ...manner, text }, spell.fromMs), behave(usual, spell.toMs)];
  });
  return [behave(usual, 0), ...troubles];
}

/** After these answers the sender cannot know whether the receiver has the lead, or knows that it has not. */
const UNSURE_MANNERS: readonly ((chance: Chance) => Manner)[] = [
  (chance) => status(oneOf(chance, [500, 502, 504])),
  (chance) => slow(chance.between(100, 3_000)),
  () => breaksSometimes(1),
  () => breaksSometimes(2),
];

const MANNERS: readonly ((chance: Chance) => Manner)[] = [
  (chance) => status(oneOf(chance, [500, 502, 504])),
  (chance) => status(oneOf(chance, [401, 403, 404])),
  (chance) => status(oneOf(chance, [429, 503]), { 'retry-after': String(chance.between(1, 5)) }),
  () => status(302, { location: '/elsewhere' }),
  () => status(410),
  () => status(422),
  (chance) => refusesSome(chance.between(3, 12)),
  (chance) => refusesSome(chance.between(2, 4)),
  (chance) => failsSometimes(chance.between(2, 6)),
  () => ({ text: 'never answers', answer: () => undefined }),
  (chance) => slow(chance.between(100, 1_500)),
  () => ({ text: 'breaks the connection', answer: (_, res) => void res.socket?.resetAndDestroy() }),
  () => ({ text: 'takes the lead and breaks the connection', answer: takeAndBreak }),
  () => ({ text: 'takes the lead and then answers a byte at a time', answer: trickle }),
  () => ({ text: 'answers with what it was sent, as a failure', answer: echo }),
];

function status(code: number, headers: Record<string, string> = {}): Manner {
  const after = headers['retry-after'] === undefined ? '' : ` with Retry-After ${headers['retry-after']}`;
  return { text: `says ${code}${after}`, answer: (_, res) => void res.writeHead(code, headers).end() };
}

/** Refuses one lead in this many, and always the same ones. */
function refusesSome(oneIn: number): Manner {
  const answer = (request: ReceivedRequest, res: ServerResponse) => {
    const ids = [...request.body.toString().matchAll(/"data":\s*\{\s*"id":(\d+)/g)].map(([, id]) =>
      Number(id),
    );
    res.writeHead(ids.some((id) => id % oneIn === 0) ? 422 : 204).end();
  };
  return { text: `refuses one lead in ${oneIn}`, answer };
}

function failsSometimes(oneIn: number): Manner {
  let requests = 0;
  const answer = (_: ReceivedRequest, res: ServerResponse) => {
    requests += 1;
    res.writeHead(requests % oneIn === 0 ? 500 : 204).end();
  };
  return { text: `fails one time in ${oneIn}`, answer };
}

/** Accepts every request, and breaks the connection of one in this many. */
function breaksSometimes(oneIn: number): Manner {
  let requests = 0;
  const answer = (request: ReceivedRequest, res: ServerResponse) => {
    requests += 1;
    if (requests % oneIn === 0) takeAndBreak(request, res);
    else res.writeHead(204).end();
  };
  return { text: `takes the leads and breaks one connection in ${oneIn}`, answer };
}

function slow(ms: number): Manner {
  const answer = async (_: ReceivedRequest, res: ServerResponse) => {
    await sleep(ms);
    res.writeHead(204).end();
  };
  return { text: `takes ${ms} ms for an answer`, answer };
}

/** Accepts the lead and breaks the connection, so that the sender never knows: the cause of repeats. */
function takeAndBreak(request: ReceivedRequest, res: ServerResponse): void {
  request.status = 204;
  res.socket?.destroy();
}

/** Answers 200, which counts whatever comes after it. */
async function trickle(request: ReceivedRequest, res: ServerResponse): Promise<void> {
  request.status = 200;
  res.writeHead(200);
  while (!res.destroyed) {
    res.write('.');
    await sleep(200);
  }
}

/** Echoes the request: a sender that logs answers would log a person's data. */
function echo({ body }: ReceivedRequest, res: ServerResponse): void {
  res.writeHead(500, { 'content-type': 'application/json' }).end(body);
}
