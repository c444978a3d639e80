import type { FastifyRequest } from 'fastify';
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { z } from 'zod';
import { momentOf } from '../../../platform/time/parse-moment.ts';
import type { Content } from '../parts/content.ts';

/** A field of a filter form. */
export interface Field {
  readonly name: string;
  readonly label: string;
  /** Allowed values with their labels. Undefined if the field takes any text. */
  readonly choices?: readonly (readonly [value: string, label: string])[];
  /** Values that a field for any text suggests. */
  readonly suggestions?: readonly string[];
  /** Label of the choice that means no value. Defaults to `any`. */
  readonly none?: string;
  /** Values that mean the same as no value. */
  readonly unsaid?: readonly string[];
  /** Whether the field is a time: an age or a date. */
  readonly time?: boolean;
  readonly number?: boolean;
  /** Whether only addresses from earlier versions have the field. The form shows the field only if it has a value. */
  readonly isFormer?: boolean;
}

/** Returns the field that selects one of the sources. */
export function sourceField(sources: readonly { readonly source: string }[]): Field {
  return { name: 'source', label: 'Source', choices: sources.map(({ source }) => [source, source] as const) };
}

/** A filter read from an address: its input, its parsed form and its faults. */
export interface ParsedFilter<Filter> {
  /** Text of each filled field. */
  readonly input: Readonly<Record<string, string>>;
  /** Undefined if the input is not valid. */
  readonly filter: Filter | undefined;
  /** Fault of each invalid field. */
  readonly faults: Readonly<Record<string, string>>;
  /** Parameters of the address that are neither fields nor the cursor. */
  readonly unknown: readonly string[];
  /** Cursor of the page. */
  readonly after: string | undefined;
}

/** Parameter that holds the cursor, which is not a field. */
const PAGING = 'after';

/**
 * Reads a filter from an address. Ignores empty fields. An unknown or repeated parameter is a fault, because ignoring it would show more
 * rows than the reader meant.
 */
export function readFilter<Filter>(
  query: URLSearchParams,
  fields: readonly Field[],
  schema: z.ZodType<Filter>,
  now: Date,
): ParsedFilter<Filter> {
  const input: Record<string, string> = {};
  const values: Record<string, string> = {};
  const faults: Record<string, string> = {};
  for (const { name, label, time } of fields) {
    const [text, ...more] = query.getAll(name).map((one) => one.trim());
    if (more.length > 0) faults[name] = `${label} appears more than once.`;
    if (!text) continue;
    input[name] = text;
    values[name] = time ? (momentOf(text, now)?.toISOString() ?? text) : text;
  }
  const result = schema.safeParse(values);
  const wrong = result.success ? [] : result.error.issues.map(({ path }) => String(path[0]));
  for (const field of fields) if (wrong.includes(field.name)) faults[field.name] = faultOf(field);
  const known = new Set([PAGING, ...fields.map(({ name }) => name)]);
  const unknown = [...new Set(query.keys())].filter((name) => !known.has(name));
  const isReadable = unknown.length === 0 && Object.keys(faults).length === 0;
  const after = query.get(PAGING) ?? undefined;
  return { input, filter: isReadable ? result.data : undefined, faults, unknown, after };
}

/** Returns the fields of a filter that are set, in words: `Sink crm, Reason or HTTP status 422`. Returns an empty text if none is. */
export function filterText(
  fields: readonly Field[],
  { input }: Pick<ParsedFilter<unknown>, 'input'>,
): string {
  return fields
    .flatMap(({ name, label, choices }) => {
      const value = input[name];
      const shown = choices?.find(([choice]) => choice === value)?.[1] ?? value;
      return shown === undefined ? [] : [`${label} ${shown}`];
    })
    .join(', ');
}

/** Returns the query of a request. */
export function queryOf(request: FastifyRequest): URLSearchParams {
  return new URL(request.url, 'http://localhost').searchParams;
}

/** Returns the filter form. The form uses GET, so that the address contains the filter. */
export function filterForm(
  action: string,
  fields: readonly Field[],
  { input, faults, unknown }: ParsedFilter<unknown>,
): Content {
  const filtered = Object.keys(input).length > 0 || unknown.length > 0;
  return html`<p class="show-filter"><a class="button" href="#filter">Filter…</a></p>
  <form id="filter" class="filter" method="get" action=${action} role="search" data-filter data-set=${filtered || undefined}>
    ${filterFields(fields, { input, faults })}
    <p class="buttons">
      <button class="primary">Show</button>
      ${filtered && html`<a class="button" href=${action}>Show all</a>`}
    </p>
  </form>`;
}

/** Returns the fields of a form with what was entered, and the fault of each invalid one. */
export function filterFields(
  fields: readonly Field[],
  { input, faults }: Pick<ParsedFilter<unknown>, 'input' | 'faults'>,
): Content {
  const shown = fields.filter(({ name, isFormer }) => !isFormer || input[name] !== undefined);
  return shown.map((field) => {
    const value = input[field.name] ?? '';
    return fieldOf(field, field.unsaid?.includes(value) ? '' : value, faults[field.name]);
  });
}

/** Returns the text that replaces the rows if the filter is not valid. */
export function faultsOf({ faults, unknown }: ParsedFilter<unknown>, fields: readonly Field[]): Content {
  if (unknown.length > 0) return unknownOf(unknown, fields);
  const marked = Object.keys(faults).length === 1 ? 'the marked field' : 'the marked fields';
  return html`<p class="empty">The filter is not valid: see ${marked}.</p>`;
}

function unknownOf(unknown: readonly string[], fields: readonly Field[]): Content {
  const label = unknown.length === 1 ? 'Unknown filter' : 'Unknown filters';
  const names = fields.map(({ name }) => name).join(', ');
  return html`<p class="empty">${label}: <bdi>${unknown.join(', ')}</bdi>. This page has: ${names}.</p>`;
}

/** Returns the text that replaces the rows if the search for them fails, for example because the filter names something unknown. */
export function errorText({ message, hint }: { readonly message: string; readonly hint: string }): Content {
  return html`<p class="empty">${message} ${hint}</p>`;
}

function fieldOf(field: Field, value: string, fault: string | undefined): VNode {
  const { name, label, choices, none = 'any', time } = field;
  const id = `filter-${name}`;
  const described = fault ? `${id}-fault` : time ? `${id}-hint` : undefined;
  const suggestions = field.suggestions ?? [];
  const list = suggestions.length > 0 ? `${id}-list` : undefined;
  const more = { id, name, 'aria-invalid': fault && 'true', 'aria-describedby': described };
  return html`<p class="field">
    <label for=${id}>${label}</label>
    ${
      choices
        ? html`<select ...${more}>${choiceList([['', none], ...choices], value).map(
            ([choice, words]) => html`<option value=${choice} selected=${choice === value}>${words}</option>`,
          )}</select>`
        : html`<input ...${more} value=${value} autocomplete="off" spellcheck=${false}
            inputmode=${field.number ? 'numeric' : undefined} placeholder=${time ? '2d' : undefined} data-moment=${time} list=${list} />`
    }
    ${list && html`<datalist id=${list}>${suggestions.map((value) => html`<option value=${value}></option>`)}</datalist>`}
    ${time && !fault && html`<small id=${`${id}-hint`} class="hint">90m, 2d or a date (UTC)</small>`}
    ${fault && html`<small id=${`${id}-fault`} class="fault">${fault}</small>`}
  </p>`;
}

/** Returns the choices, and the current value if it is not among them. */
function choiceList(choices: NonNullable<Field['choices']>, value: string) {
  const known = choices.some(([choice]) => choice === value);
  return [...choices, ...(known ? [] : [[value, value] as const])];
}

function faultOf({ label, choices, unsaid = [], time, number }: Field): string {
  if (choices)
    return `${label} must be one of ${[...unsaid, ...choices.map(([value]) => value)].join(', ')}.`;
  if (time) return `${label} must be an age (90m, 12h, 2d) or a date (2026-11-20 or 2026-11-20 10:00).`;
  return number ? `${label} must be a number of at most 19 digits.` : `${label} is not valid.`;
}
