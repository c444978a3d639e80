import { AssertionError } from 'node:assert';
import { aLead } from './a-lead.ts';

/** A word that every canary contains, and no other text. */
const MARK = 'k9canary7q';
/** Phone numbers contain no letters, so their canary is a run of digits. */
const DIGITS = '73133773313';

/** Builds a secret that must not appear in any output: `canarySecret('client_secret')`. */
export function canarySecret(name: string): string {
  return `${MARK}-secret-${name}`;
}

/** Builds a lead, as raw JSON, in which every text is a canary that can be recognised wherever it leaks. */
export function canaryLead(id: number | bigint): string {
  const text = (field: string) => `${MARK} ${field}`;
  return aLead({
    id,
    service_name: text('service_name'),
    service_slug: `${MARK}-service-slug`,
    client_name: text('client_name'),
    client_email: `${MARK}@example.com`,
    client_phone_number: `+61 ${DIGITS}`,
    client_address: { friendly_address: text('friendly_address') },
    service_question_answers: [
      {
        question: text('question'),
        slug: `${MARK}-question-slug`,
        answer: `${text('answer')}\nof two lines`,
      },
    ],
    all_details_one_liner: `${text('one_liner')}\n--\nAddress: ${text('friendly_address')}\n`,
    [`${MARK} unknown field`]: { deep: [text('unknown')] },
  });
}

/**
 * Fails if the output contains a lead's text or a secret: plain, in capitals, or in Base64.
 * @param where names the output in the failure: `standard error`, `/metrics`
 */
export function expectNoCanary(text: string, where = 'the output'): void {
  for (const canary of SHAPES) {
    const at = text.toLowerCase().indexOf(canary.toLowerCase());
    if (at === -1) continue;
    const around = text.slice(Math.max(0, at - 80), at + canary.length + 40);
    throw new AssertionError({ message: `${where} shows a lead's text or a secret: …${around}…` });
  }
}

/** Base64 has three alignments. For each, returns only the characters that the canary alone determines. */
const SHAPES = [MARK, DIGITS].flatMap((mark) => [mark, ...[0, 1, 2].map((shift) => inBase64(mark, shift))]);

function inBase64(text: string, shift: number): string {
  const shifted = Buffer.from(`${'x'.repeat(shift)}${text}`).toString('base64');
  return shifted.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + text.length) * 8) / 6));
}
