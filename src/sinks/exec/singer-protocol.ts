import { hash } from 'node:crypto';
import type { Column } from '../../catalog/relation.ts';
import type { Batch, Delivery } from '../../leads/delivery.ts';
import type { Acknowledgement, ProgramProtocol, ProtocolForm } from './program-protocol.ts';
import { type Cell, type Stream, streamsOf } from './singer-streams.ts';

/**
 * Returns the protocol of Singer targets (https://github.com/singer-io/getting-started/blob/master/docs/SPEC.md, version 0.3.0): a SCHEMA per stream,
 * a RECORD per row, and one STATE. The target repeats the value of the STATE when it has stored everything before it.
 */
export function singerProtocol(batch: Batch, form: ProtocolForm): ProgramProtocol {
  const state = stateOf(batch.deliveries);
  return { lines: () => messages(batch, state, form), wants: new StateReader(state) };
}

function* messages(batch: Batch, state: string, form: ProtocolForm): Iterable<string> {
  const streams = streamsOf(batch).map((stream) => ({ stream, name: nameOf(stream, form) }));
  for (const { stream, name } of streams)
    yield `{"type":"SCHEMA","stream":"${name}","schema":${schemaOf(stream, form)},"key_properties":${JSON.stringify(stream.key)}}`;
  for (const delivery of batch.deliveries)
    for (const { stream, name } of streams)
      for (const cells of stream.records(delivery))
        yield `{"type":"RECORD","stream":"${name}","record":${recordOf(stream, cells, form)}}`;
  yield `{"type":"STATE","value":${state}}`;
}

/** Returns the name of a stream. A test event has streams of its own, so that no test lead is stored among the leads. */
function nameOf({ name }: Stream, { isTest }: ProtocolForm): string {
  return isTest ? `leadsync_test_${name}` : name;
}

/**
 * Returns the value of the STATE. It identifies the leads and not their batch, because a target may get a part of a batch, and some targets
 * keep the value of an earlier run.
 */
function stateOf(deliveries: readonly Delivery[]): string {
  const ids = deliveries.map(({ id }) => id).join('\n');
  return JSON.stringify({ leadsync: { leads: deliveries.length, sha256: hash('sha256', ids) } });
}

/** Recognises a STATE on standard output. Only the last one counts, because a target may write others before it. */
class StateReader implements Acknowledgement {
  readonly #state: string;
  isGiven = false;

  constructor(state: string) {
    this.#state = state;
  }

  read(line: string): void {
    const text = line.trim();
    if (!text.startsWith('{')) return; // not a STATE: some targets write more than that to standard output
    try {
      this.isGiven = sorted(JSON.parse(text)) === sorted(JSON.parse(this.#state));
    } catch {
      // Not a STATE either.
    }
  }
}

/** Returns JSON whose keys are sorted, because a target may have parsed the STATE and written its keys in another order. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, inside: unknown) =>
    typeof inside === 'object' && inside !== null && !Array.isArray(inside)
      ? Object.fromEntries(Object.entries(inside).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inside,
  );
}

/** The range of a bigint in SQL, by which some targets choose the type of a column. Written out, because a double would round it. */
const BIGINT = '"minimum":-9223372036854775808,"maximum":9223372036854775807';

/** Returns the JSON Schema (draft 4 and later) of the records of a stream. */
function schemaOf({ columns, key }: Stream, form: ProtocolForm): string {
  const properties = columns.map(
    (column) => `${JSON.stringify(column.name)}:${propertyOf(column, !key.includes(column.name), form)}`,
  );
  return `{"type":"object","properties":{${properties.join(',')}}}`;
}

/** Returns the schema of a column. Every column outside the key is nullable, because a target must accept a lead without a value for it. */
function propertyOf({ type }: Column, isNullable: boolean, { ids }: ProtocolForm): string {
  const of = (name: string) => (isNullable ? `"type":["null","${name}"]` : `"type":["${name}"]`);
  switch (type) {
    case 'bigint':
      return ids === 'string' ? `{${of('string')}}` : `{${of('integer')},${BIGINT}}`;
    case 'integer':
      return `{${of('integer')}}`;
    case 'double':
      return `{${of('number')}}`;
    case 'boolean':
      return `{${of('boolean')}}`;
    case 'time':
      return `{${of('string')},"format":"date-time"}`;
    case 'day':
      return `{${of('string')},"format":"date"}`;
    case 'text':
    case 'json': // as text, because some targets create a column for each key of an object
    case 'jsonb':
      return `{${of('string')}}`;
  }
}

function recordOf({ columns }: Stream, cells: readonly Cell[], { ids }: ProtocolForm): string {
  const members = columns.map(({ name, type }, at) => {
    const cell = cells[at] ?? null;
    const value = type === 'bigint' && cell !== null ? bigintOf(cell, ids) : JSON.stringify(cell);
    return `${JSON.stringify(name)}:${value}`;
  });
  return `{${members.join(',')}}`;
}

function bigintOf(cell: Cell, ids: ProtocolForm['ids']): string {
  return ids === 'string' ? `"${cell}"` : String(cell);
}
