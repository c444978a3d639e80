import { type Answer, AnswerTooLong } from '../http/api-server.ts';
import { readBody } from '../http/json-answer.ts';
import type { RecordFault } from './judge-fault.ts';

/** Maximum number of records per request. */
export const MAX_INPUTS = 100;

/** A request about several items. */
export interface BatchRequest<Item, Result> {
  readonly path: string;
  bodyOf(part: readonly Item[]): object;
  /** Parses the body of an answer. Returns undefined if it is not an answer to such a request. */
  readResult(
    body: Readonly<Record<string, unknown>>,
    part: readonly Item[],
    answer: Answer,
  ): Result | undefined;
  /** Returns the items whose fate the answer leaves open, and that have to be sent again in smaller requests. Default: none. */
  unclearIn?(result: Result): readonly Item[];
}

/** What became of some items of a request: the result of all of them, or the fault of one. */
export type Part<Item, Result> = { readonly part: readonly Item[]; readonly answer: Answer } & (
  | { readonly result: Result; readonly fault?: undefined }
  | { readonly result?: undefined; readonly fault: RecordFault }
);

/** How to send a request. */
interface Sending {
  send(body: object): Promise<Answer>;
  /** Returns the fault of the record because of which an answer refuses the request. @throws SinkUnavailable if the answer blames no record */
  faultOf(answer: Answer): RecordFault;
}

/**
 * Sends items in requests of at most 100. If HubSpot refuses a request because of one item, or if the answer is too long or leaves open which items
 * are at fault, splits the items until the item at fault is alone. Yields each answer with its items, or the fault of an item. @throws
 * SinkUnavailable
 */
export async function* inParts<Item, Result>(
  items: readonly Item[],
  { bodyOf, readResult, unclearIn }: BatchRequest<Item, Result>,
  { send, faultOf }: Sending,
): AsyncGenerator<Part<Item, Result>> {
  const waiting = chunksOf(items, MAX_INPUTS);
  for (let part = waiting.shift(); part; part = waiting.shift()) {
    const isAlone = part.length === 1;
    const answer = await send(bodyOf(part)).catch((error) => {
      if (error instanceof AnswerTooLong && !isAlone) return undefined;
      throw error;
    });
    const body = answer && isSuccess(answer) ? readBody(answer) : undefined;
    const result = answer && body && readResult(body, part, answer);
    if (answer && result !== undefined) {
      yield { part, answer, result };
      waiting.unshift(...halvesOf(unclearIn?.(result) ?? []));
    } else {
      const fault = answer && faultOf(answer);
      if (answer && fault && isAlone) yield { part, answer, fault };
      else waiting.unshift(...halvesOf(part));
    }
  }
}

/** Whether an answer says that HubSpot carried out at least a part of the request. */
export function isSuccess({ httpStatus }: Answer): boolean {
  return httpStatus >= 200 && httpStatus < 300;
}

/** Returns the items in chunks of at most `size`. */
export function chunksOf<Item>(items: readonly Item[], size: number): (readonly Item[])[] {
  const chunks: (readonly Item[])[] = [];
  for (let at = 0; at < items.length; at += size) chunks.push(items.slice(at, at + size));
  return chunks;
}

function halvesOf<Item>(items: readonly Item[]): (readonly Item[])[] {
  return items.length === 0 ? [] : chunksOf(items, Math.ceil(items.length / 2));
}
