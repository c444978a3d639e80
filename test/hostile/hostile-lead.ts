/** How a text stands in JSON: as short as it can, or with every character as an escape. */
export type Spelling = 'short' | 'escaped';

const FIELDS = [
  'service_name',
  'service_slug',
  'client_name',
  'client_email',
  'client_phone_number',
  'all_details_one_liner',
] as const;

export interface HostileLead {
  readonly id: number;
  /** What stands in every text of it. */
  readonly text: string;
  /** Its JSON, as the service shows it. */
  readonly raw: string;
}

/**
 * A lead in which every text is `text`: every field of the description but `created_at`, which is held to its form, and
 * unknown ones beside the lead's own, in the address and in the answers; and unknown fields of that name.
 */
export function hostileLead(id: number, text: string, spelling: Spelling = 'short'): HostileLead {
  const spelled = spell(text, spelling);
  const described = FIELDS.map((field) => `"${field}":${spelled}`);
  // A name that the description knows would be another field than an unknown one.
  const unknown = `${spell(`${text} unknown`, spelling)}:${spelled},${spell(text === 'id' ? 'id2' : text, spelling)}:[{${spelled}:${spelled}}]`;
  const answers = [
    `{"question":${spelled},"slug":${spelled},"answer":${spelled},"unknown":${spelled}}`,
    `{"question":"And?","slug":"and","answer":${spelled}}`,
  ];
  const raw = `{"id":${id},"created_at":"2026-02-03T04:05:06.789Z",${described},"client_address":{"friendly_address":${spelled},"unknown":${spelled}},"service_question_answers":[${answers}],${unknown}}`;
  return { id, text, raw };
}

/** Leads of every text in both spellings, with ids from `firstId` on. */
export function hostileLeads(texts: readonly string[], firstId = 1): HostileLead[] {
  return texts.flatMap((text, at) => [
    hostileLead(firstId + 2 * at, text),
    hostileLead(firstId + 2 * at + 1, text, 'escaped'),
  ]);
}

/** A text as JSON has it. */
function spell(text: string, spelling: Spelling): string {
  if (spelling === 'short') return JSON.stringify(text);
  const units = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
  return `"${units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')}"`;
}

/** What a medium that has neither NUL nor lone surrogates holds of a text: the rule that the sinks' pages state. */
export function asText(text: string): string {
  return text.replace(/\0|\p{Surrogate}/gu, '\ufffd');
}
