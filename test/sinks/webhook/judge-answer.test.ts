import { describe, expect, test } from 'vitest';
import { SinkUnavailable } from '../../../src/sinks/sink-unavailable.ts';
import { judgeAnswer } from '../../../src/sinks/webhook/judge-answer.ts';

const judge = (httpStatus: number, retryAfterMs?: number) =>
  judgeAnswer('https://crm.example.com', { httpStatus, text: 'its words', retryAfterMs });

describe("a receiver's answer", () => {
  test.each([200, 201, 202, 204, 206, 299])('%i: the lead is delivered', (httpStatus) => {
    expect(judge(httpStatus)).toEqual({ kind: 'delivered', httpStatus });
  });

  test.each([400, 413, 422])('%i: the lead is refused, with the answer kept', (httpStatus) => {
    expect(judge(httpStatus)).toMatchObject({ kind: 'refused', httpStatus, answer: 'its words' });
  });

  test.each([
    300, 301, 302, 303, 307, 308, 401, 402, 403, 404, 405, 406, 407, 408, 409, 411, 414, 415, 418, 421, 423,
    425, 426, 428, 429, 431, 451, 499, 500, 501, 502, 503, 504, 507, 520, 599,
  ])('%i: the receiver is unavailable, with what to do', (httpStatus) => {
    const judged = judge(httpStatus);
    expect(judged).toBeInstanceOf(SinkUnavailable);
    expect(judged).toMatchObject({ httpStatus, gone: false, answer: 'its words' });
    expect((judged as SinkUnavailable).hint).not.toBe('');
    expect((judged as SinkUnavailable).message).not.toContain('its words');
  });

  test('410: the receiver is gone for good', () => {
    expect(judge(410)).toMatchObject({ gone: true, httpStatus: 410 });
    expect(judge(410)).toMatchObject({ hint: expect.stringMatching(/^The receiver answered 410 Gone\. /) });
  });

  test.each([429, 503])('%i: the Retry-After is passed on', (httpStatus) => {
    expect(judge(httpStatus, 30_000)).toMatchObject({ retryAfterMs: 30_000 });
  });
});
