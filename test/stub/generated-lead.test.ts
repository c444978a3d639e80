import { describe, expect, it } from 'vitest';
import { leadAt, leadText } from './generated-lead.ts';

describe('generated leads', () => {
  const leads = Array.from({ length: 2_000 }, (_, index) => leadAt(7, index + 1));

  it('the same seed, id and version produce the same text; others produce another text', () => {
    expect(leadText({ seed: 7, id: 12, version: 1 })).toBe(leadText({ seed: 7, id: 12, version: 1 }));
    const texts = [
      leadText({ seed: 7, id: 12, version: 1 }),
      leadText({ seed: 7, id: 12, version: 2 }),
      leadText({ seed: 7, id: 12, version: 3 }),
      leadText({ seed: 7, id: 13, version: 1 }),
      leadText({ seed: 8, id: 12, version: 1 }),
    ];
    expect(new Set(texts).size).toBe(texts.length);
  });

  it('a generated lead has every described field with the right type', () => {
    for (const lead of leads) {
      expect(Object.keys(lead)).toEqual([
        'id',
        'service_name',
        'service_slug',
        'created_at',
        'client_name',
        'client_email',
        'client_phone_number',
        'client_address',
        'service_question_answers',
        'all_details_one_liner',
      ]);
      expect(lead['client_email']).toMatch(/^[a-z0-9.-]+@[a-z.]+$/);
      expect(lead['client_phone_number']).toMatch(/^\+\d[\d ]{8,}$/);
      expect(new Date(String(lead['created_at'])).toISOString()).toBe(lead['created_at']);
    }
  });

  it("the summary has the described layout and repeats the lead's own answers and address", () => {
    for (const lead of leads) {
      const answers = lead['service_question_answers'] as { question: string; answer: string }[];
      const address = lead['client_address'] as { friendly_address: string } | null;
      const lines = answers.map(({ question, answer }) => `${question}\n${answer}\n`).join('');
      expect(lead['all_details_one_liner']).toBe(`${lines}--\nAddress: ${address?.friendly_address ?? ''}\n`);
    }
  });

  it('leads have about 0.9 KB, several scripts, answers with line breaks, and now and then no address', () => {
    const texts = leads.map((lead) => JSON.stringify(lead));
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) / texts.length;
    expect(bytes).toBeGreaterThan(800);
    expect(bytes).toBeLessThan(1_000);
    expect(leads.filter((lead) => lead['client_address'] === null).length).toBeGreaterThan(100);
    const all = texts.join('');
    for (const script of [/\p{Script=Han}/u, /\p{Script=Arabic}/u, /ß/, /ł/, /\p{Emoji_Presentation}/u]) {
      expect(all).toMatch(script);
    }
    expect(texts.filter((text) => /"answer":"[^"]*\\n/.test(text)).length).toBeGreaterThan(100);
  });
});
