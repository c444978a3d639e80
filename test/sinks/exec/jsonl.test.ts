import { describe, expect, test } from 'vitest';
import type { MappedFields } from '../../../src/leads/mapped-fields.ts';
import { aBatch, aDelivery } from '../../support/scene/a-delivery.ts';
import { type ExecInput, openExec } from './open-exec.ts';

/** What a program would read, line by line. */
function linesOf(batch = aBatch(1), more: Partial<ExecInput> = {}): string[] {
  const [preview] = openExec({ command: ['program'], ...more }).preview(batch);
  return (preview?.content ?? '').split('\n').slice(0, -1);
}

describe('a line', () => {
  test('is the event as a webhook gets it, with the id of the delivery', () => {
    const raw = '{"id":9223372036854775807,"x":-0,"y":1e400,"z":"\\u0041\\u0000"}';
    expect(linesOf(aBatch([aDelivery({ id: 'sink:main:1:1:0a', raw, replay: true })]))).toEqual([
      `{"id":"sink:main:1:1:0a","type":"lead.created","timestamp":"2026-11-20T10:00:00.000Z","data":${raw},"source":"main","replay":true}`,
    ]);
  });

  test('is one line, however the service broke its JSON into lines', () => {
    const raw = '{\r\n  "id": 1,\n\n  "client_name": "a\\nb\u2028c"\r}';
    const [line = '', ...more] = linesOf(aBatch([aDelivery({ leadId: 1n, raw })]));
    expect(more).toEqual([]);
    expect(JSON.parse(line).data).toEqual({ id: 1, client_name: 'a\nb\u2028c' });
  });

  test('has the id as a string with `ids: string`, and every other number with all its digits', () => {
    const raw =
      '{"__proto__":{"id":3},"id":9223372036854775807,"more":[9007199254740993,{"id":-0.10}],"t":"\\ud800"}';
    const [line] = linesOf(aBatch([aDelivery({ raw })]), { ids: 'string' });
    expect(line).toContain(
      '"data":{"__proto__":{"id":3},"id":"9223372036854775807","more":[9007199254740993,{"id":-0.10}],"t":"\\ud800"}',
    );
  });

  test('is the object of the fields with a mapping; a lead that was sent before as received is an event', () => {
    const fields: MappedFields = new Map<string, string | bigint>([
      ['key', 'main:42'],
      ['rooms', 9_007_199_254_740_993n],
      ['person.name', 'Ana\nMaría'],
    ]);
    const [mapped, received = ''] = linesOf(aBatch([aDelivery({ fields }), aDelivery()]));
    expect(mapped).toBe('{"key":"main:42","rooms":9007199254740993,"person":{"name":"Ana\\nMaría"}}');
    expect(JSON.parse(received).type).toBe('lead.created');
  });
});
