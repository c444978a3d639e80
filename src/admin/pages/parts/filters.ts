import type { FastifyRequest } from 'fastify';
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { z } from 'zod';
import { momentOf } from '../../../platform/time/moment.ts';
import type { Content } from './content.ts';

/** A field of a filter's form. */
export interface Field {
  readonly name: string;
  readonly label: string;
  /** One of these, with the words for each; else any text. */
  readonly choices?: readonly (readonly [value: string, label: string])[];
  /** A time: how long ago, or a date. */
  readonly time?: boolean;
  readonly number?: boolean;
}

/** What a reader has filtered by: as it was written, as it is meant, and what is wrong with it. */
export interface ParsedFilter<Filter> {
  readonly given: Readonly<Record<string, string>>;
  /** Undefined when something is wrong. */
  readonly filter: Filter | undefined;
  readonly faults: Readonly<Record<string, string>>;
  /** What the address names and no field is. */
  readonly unknown: readonly string[];
  /** The page after this cursor. */
  readonly after: string | undefined;
}

/** What an address may name beside the fields. */
const PAGING = 'after';

/** Reads a filter from an address. Empty fields are as good as absent. A name that is unknown, or there twice, is a mistake: left out, it would show more than was meant. */
export function readFilter<Filter>(
  query: URLSearchParams,
  fields: readonly Field[],
  schema: z.ZodType<Filter>,
  now: Date,
): ParsedFilter<Filter> {
  const given: Record<string, string> = {};
  const values: Record<string, string> = {};
  const faults: Record<string, string> = {};
  for (const { name, label, time } of fields) {
    const [text, ...more] = query.getAll(name).map((one) => one.trim());
    if (more.length > 0) faults[name] = `${label} was given more than once.`;
    if (!text) continue;
    given[name] = text;
    values[name] = time ? (momentOf(text, now)?.toISOString() ?? text) : text;
  }
  const result = schema.safeParse(values);
  const wrong = result.success ? [] : result.error.issues.map(({ path }) => String(path[0]));
  for (const field of fields) if (wrong.includes(field.name)) faults[field.name] = faultOf(field);
  const known = new Set([PAGING, ...fields.map(({ name }) => name)]);
  const unknown = [...new Set(query.keys())].filter((name) => !known.has(name));
  const isReadable = unknown.length === 0 && Object.keys(faults).length === 0;
  const after = query.get(PAGING) ?? undefined;
  return { given, filter: isReadable ? result.data : undefined, faults, unknown, after };
}

/** The query of a request's address. */
export function queryOf(request: FastifyRequest): URLSearchParams {
  return new URL(request.url, 'http://localhost').searchParams;
}

/** The form of a filter: it is sent by GET, so that the address says what is shown. */
export function filterForm(
  action: string,
  fields: readonly Field[],
  { given, faults, unknown }: ParsedFilter<unknown>,
): VNode {
  const filtered = Object.keys(given).length > 0 || unknown.length > 0;
  return html`<form class="filter" method="get" action=${action} role="search" data-filter>
    ${fields.map((field) => fieldOf(field, given[field.name] ?? '', faults[field.name]))}
    <p class="buttons">
      <button class="primary">Show</button>
      ${filtered && html`<a class="button" href=${action}>Show all</a>`}
    </p>
  </form>`;
}

/** What stands in the place of rows when a filter cannot be understood. */
export function faultsOf({ faults, unknown }: ParsedFilter<unknown>, fields: readonly Field[]): Content {
  if (unknown.length > 0) return unknownOf(unknown, fields);
  const marked = Object.keys(faults).length === 1 ? 'the field that is marked' : 'the fields that are marked';
  return html`<p class="empty">Nothing is shown, because the filter cannot be read: see ${marked}.</p>`;
}

function unknownOf(unknown: readonly string[], fields: readonly Field[]): Content {
  const none = unknown.length === 1 ? 'there is no filter' : 'there are no filters';
  const names = fields.map(({ name }) => name).join(', ');
  return html`<p class="empty">Nothing is shown, because ${none} <bdi>${unknown.join(', ')}</bdi> here. There are: ${names}.</p>`;
}

/** What stands there when a filter asks for what does not exist. */
export function errorText({ message, hint }: { readonly message: string; readonly hint: string }): Content {
  return html`<p class="empty">${message} ${hint}</p>`;
}

function fieldOf(field: Field, value: string, fault: string | undefined): VNode {
  const { name, label, choices, time } = field;
  const id = `filter-${name}`;
  const described = fault ? `${id}-fault` : time ? `${id}-hint` : undefined;
  const more = { id, name, 'aria-invalid': fault && 'true', 'aria-describedby': described };
  return html`<p class="field">
    <label for=${id}>${label}</label>
    ${
      choices
        ? html`<select ...${more}>${choiceList(choices, value).map(
            ([choice, words]) => html`<option value=${choice} selected=${choice === value}>${words}</option>`,
          )}</select>`
        : html`<input ...${more} value=${value} autocomplete="off" spellcheck=${false}
            inputmode=${field.number ? 'numeric' : undefined} placeholder=${time ? '2d' : undefined} data-moment=${time} />`
    }
    ${time && !fault && html`<small id=${`${id}-hint`} class="hint">90m, 2d or a date (UTC)</small>`}
    ${fault && html`<small id=${`${id}-fault`} class="fault">${fault}</small>`}
  </p>`;
}

/** The choices and the one that was made, though it is none of them. */
function choiceList(choices: NonNullable<Field['choices']>, value: string) {
  const known = value === '' || choices.some(([choice]) => choice === value);
  return [['', 'any'] as const, ...choices, ...(known ? [] : [[value, value] as const])];
}

function faultOf({ label, choices, time, number }: Field): string {
  if (choices) return `${label} is one of ${choices.map(([value]) => value).join(', ')}.`;
  if (time) return `${label} is how long ago (90m, 12h, 2d), or a date (2026-11-20 or 2026-11-20 10:00).`;
  return number ? `${label} is a number of at most 19 digits.` : `${label} cannot be read.`;
}
