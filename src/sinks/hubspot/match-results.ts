import { storedAnswer } from '../../leads/outcome.ts';
import type { Addressee, Answer } from '../http/api-server.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { judgeFault, type RecordFault, unnamed } from './judge-fault.ts';
import type { BatchAnswer, HubSpotRecord } from './read-answer.ts';

/** A record to write. The trace id identifies the record within its request. */
export interface RecordInput {
  readonly objectWriteTraceId: string;
  readonly id?: string;
  readonly idProperty?: string;
  readonly properties: Readonly<Record<string, string>>;
  readonly associations?: readonly object[];
}

/** What an answer says about the records of a request. */
export interface MatchedResults {
  /** What became of a record, by its trace id. */
  readonly written: ReadonlyMap<string, HubSpotRecord | RecordFault>;
  /** Records some of which are at fault, if the answer does not say which. */
  readonly unclear: readonly RecordInput[];
}

/**
 * Matches results to records by their trace ids, or by the value that `keyOf` returns. A fault without a trace id belongs to the record that the
 * answer does not name, if there is only one such record.
 */
export function matchResults(
  inputs: readonly RecordInput[],
  batch: BatchAnswer,
  {
    answer,
    addressee,
    keyOf,
  }: {
    readonly answer: Answer;
    readonly addressee: Addressee;
    readonly keyOf: (one: RecordInput | HubSpotRecord) => string | undefined;
  },
): MatchedResults {
  const written = new Map<string, HubSpotRecord | RecordFault>();
  const byValue = new Map(inputs.map((input) => [keyOf(input), input.objectWriteTraceId]));
  for (const { traceId, of } of batch.records) {
    const id = traceId ?? byValue.get(keyOf(of));
    if (id !== undefined) written.set(id, of);
  }
  const known = { httpStatus: answer.httpStatus, answer: storedAnswer(answer.text) };
  const untraced: RecordFault[] = [];
  for (const { traceId, of } of batch.faults) {
    const fault = judgeFault(of, addressee, known);
    if (traceId === undefined) untraced.push(fault);
    else written.set(traceId, fault);
  }
  const unwritten = inputs.filter(({ objectWriteTraceId }) => !written.has(objectWriteTraceId));
  const shared = sharedFault(untraced);
  if (unwritten.length > 1 && untraced.length > 0 && shared === undefined)
    return { written, unclear: unwritten };
  const fault = (unwritten.length === 1 ? untraced[0] : shared) ?? unnamed(addressee, answer.httpStatus);
  for (const { objectWriteTraceId } of unwritten) written.set(objectWriteTraceId, fault);
  return { written, unclear: [] };
}

/** Returns a fault that every record would have, such as a property that does not exist; undefined if there is none. */
function sharedFault(faults: readonly RecordFault[]): SinkUnavailable | undefined {
  const fault = faults.find((one) => one instanceof SinkUnavailable);
  return fault && new SinkUnavailable(fault.message, { ...fault, mayHaveArrived: true, cause: fault });
}
