import { type ApiRequest, type Handler, succeeded } from './api-request.ts';
import { type Company, ME } from './company.ts';
import { offsetPage } from './paging.ts';
import { anInteger, aText, type Body, checkV1, oneOf } from './parameters.ts';
import type { Note } from './records.ts';
import { fixedAnswers, invalidV1, notFound, Refusal } from './vendor-answer.ts';

/** Longest content of a note, in characters. */
const LONGEST_NOTE = 100_000;

const LINKS = ['lead_id', 'deal_id', 'person_id', 'org_id'] as const;

const parameters = {
  content: aText(LONGEST_NOTE),
  lead_id: aText(36),
  deal_id: anInteger,
  person_id: anInteger,
  org_id: anInteger,
  user_id: anInteger,
  add_time: aText(19),
  pinned_to_lead_flag: oneOf(0, 1),
  pinned_to_deal_flag: oneOf(0, 1),
  pinned_to_person_flag: oneOf(0, 1),
  pinned_to_organization_flag: oneOf(0, 1),
};

/** Returns the operations on notes. A note belongs to at least one record. */
export function noteHandlers(company: Company) {
  const find = (id: string): Note => {
    const note = company.notes.get(Number(id));
    if (note === undefined) throw new Refusal(notFound());
    return note;
  };

  const create = ({ body }: ApiRequest) => {
    checkV1(body, parameters, ['content']);
    const links = linksOf(body);
    if (Object.values(links).every((id) => id === null)) {
      throw new Refusal(invalidV1(`"value" must contain at least one of [${LINKS.join(', ')}]`));
    }
    company.requireLinks('v1', { ...links, user_id: body['user_id'] });
    const now = company.now().replace('T', ' ').replace('Z', '');
    const note: Note = {
      id: company.nextId(),
      content: sanitized(String(body['content'])),
      ...links,
      user_id: (body['user_id'] as number | undefined) ?? ME,
      active_flag: true,
      add_time: now,
      update_time: now,
    };
    company.notes.set(note.id, note);
    return succeeded(note, company.settings.createdStatus);
  };

  const remove = ({ id }: ApiRequest) => {
    if (!company.settings.mayDelete) throw new Refusal(fixedAnswers.forbidden);
    company.notes.delete(find(id).id);
    return succeeded(true);
  };

  const list = ({ query }: ApiRequest) => {
    const notes = [...company.notes.values()].filter((note) =>
      LINKS.every((name) => !query.has(name) || String(note[name]) === query.get(name)),
    );
    return offsetPage(notes, query);
  };

  return {
    'GET /notes': list,
    'POST /notes': create,
    'GET /notes/{id}': ({ id }: ApiRequest) => succeeded(find(id)),
    'DELETE /notes/{id}': remove,
  } satisfies Record<string, Handler>;
}

function linksOf(body: Body): Pick<Note, (typeof LINKS)[number]> {
  const [lead_id, deal_id, person_id, org_id] = LINKS.map((name) => body[name] ?? null);
  return { lead_id, deal_id, person_id, org_id } as Pick<Note, (typeof LINKS)[number]>;
}

/** Returns the HTML without scripts and styles, as the service stores it. */
function sanitized(html: string): string {
  return html.replace(/<(script|style)\b[\s\S]*?<\/\1\s*>/gi, '');
}
