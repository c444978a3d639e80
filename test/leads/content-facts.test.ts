import { describe, expect, it } from 'vitest';
import { factsOf } from '../../src/leads/content-facts.ts';
import { aLead } from '../support/scene/a-lead.ts';

describe('what is kept beside a lead', () => {
  it('is its category and when it was created', () => {
    const raw = aLead({ service_slug: 'gardening', created_at: '2026-11-20T10:00:00+01:00' });
    const createdAtMs = Date.parse('2026-11-20T09:00:00Z');
    expect(factsOf(raw)).toEqual({ serviceSlug: 'gardening', createdAtMs, readable: null, safeRaw: null });
  });

  it('is nothing where the text says nothing', () => {
    expect(factsOf('{"id":1,"service_slug":7}')).toEqual({
      serviceSlug: null,
      createdAtMs: null,
      readable: null,
      safeRaw: null,
    });
  });

  it('is the text without what no database holds, only where there is such a thing', () => {
    const answer = { question: 'q', slug: 's', answer: 'x\0y' };
    const { readable } = factsOf(
      aLead({ client_name: 'a\0b\ud800', service_question_answers: [answer], other: 'z\0' }),
    );
    expect(JSON.parse(readable ?? '')).toMatchObject({
      client_name: 'a\ufffdb\ufffd',
      service_question_answers: [{ ...answer, answer: 'x\ufffdy' }],
    });
    expect(readable).not.toContain('other');
    expect(
      factsOf(aLead({ client_name: 'a\\u0000b', other: 'z\0', pair: '\ud83d\ude00' })).readable,
    ).toBeNull();
  });
});
