import type { FastifyReply, FastifyRequest } from 'fastify';
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { LeadRow } from '../../contract/leads.ts';
import type { ExpressionRequest } from '../../contract/operations.ts';
import type { SinkOverview } from '../../contract/overview.ts';
import type { ExpressionLanguage, TriedExpression } from '../../contract/previews.ts';
import { RequestError } from '../../contract/request-error.ts';
import { queryOf } from '../lists/filters.ts';
import { leadAddress } from '../parts/addresses.ts';
import type { Content } from '../parts/content.ts';
import { formattedText } from '../parts/formatted-text.ts';
import { type AddPage, fieldsOf, type Site } from '../parts/site.ts';
import { textOfJson } from './lead-previews.ts';

/** Number of newest leads to choose from. */
const LAST_LEADS = 20;

/** Adds the page on which readers can try expressions. It stores and sends nothing. */
export const addPlayground: AddPage = (app, site) => {
  app.get('/playground', { config: { operation: 'tryExpression' } }, (request, reply) => {
    const { source = '', lead = '', sink = '' } = Object.fromEntries(queryOf(request));
    const chosen = source && lead ? `${source}:${lead}` : '';
    return show(site, request, reply, { lead: chosen, other: '', sink, expression: '' }, undefined);
  });
  app.post('/playground', { config: { operation: 'tryExpression' } }, async (request, reply) => {
    const fields = fieldsOf(request);
    const of = (name: string) => fields.get(name) ?? '';
    // A form sends a line break as CRLF, regardless of the reader's system.
    const expression = of('expression').replaceAll('\r\n', '\n');
    const input = { lead: of('lead'), other: of('other').trim(), sink: of('sink'), expression };
    return show(site, request, reply, input, await answerTo(site, input));
  });
};

/**
 * The fields of the form. A lead is written as `source:id`; the empty text is the sample lead. `other` is what the reader typed, and takes
 * precedence over `lead`.
 */
interface Input {
  readonly lead: string;
  readonly other: string;
  readonly sink: string;
  readonly expression: string;
}

/** The answer to a form: a result, or why there is none. */
type Answer =
  | { readonly tried: TriedExpression; readonly lead: ExpressionRequest['lead'] }
  | { readonly problem: Pick<RequestError, 'status' | 'message' | 'hint'> };

async function answerTo(site: Site, input: Input): Promise<Answer> {
  const { expression, sink } = input;
  try {
    if (expression.trim() === '')
      throw badRequest('There is no expression.', 'Type one, such as `lead.client_name`.');
    const lead = await leadOf(site, input.other || input.lead);
    const tried = await site.operations.tryExpression({ expression, sink: sink || undefined, lead });
    return { tried, lead };
  } catch (error) {
    if (error instanceof RequestError) return { problem: error };
    throw error;
  }
}

/** Returns the lead that a text names; undefined for the sample lead. An id alone is enough if there is only one source. @throws RequestError */
async function leadOf({ operations }: Site, text: string): Promise<ExpressionRequest['lead']> {
  if (text === '') return undefined;
  const [, named, lead = ''] = /^(?:([^:]+):)?(\d{1,19})$/.exec(text) ?? [];
  const { sources } = await operations.overview();
  const source = named ?? (sources.length === 1 ? sources[0]?.source : undefined);
  if (lead !== '' && source !== undefined) return { source, lead };
  const example = `${sources[0]?.source ?? 'main'}:${lead || '4711'}`;
  throw badRequest(
    lead === ''
      ? 'This is not a lead id.'
      : 'There are several sources: this id alone does not identify a lead.',
    `Enter the source and the id, such as \`${example}\`.`,
  );
}

function badRequest(message: string, hint: string): RequestError {
  return new RequestError(400, 'wrong-request', message, hint);
}

async function show(
  site: Site,
  request: FastifyRequest,
  reply: FastifyReply,
  input: Input,
  answer: Answer | undefined,
): Promise<FastifyReply> {
  const { operations } = site;
  const [leads, sinks, language] = await Promise.all([
    operations.leads({}, { limit: LAST_LEADS }),
    operations.sinks(),
    operations.expressionLanguage(),
  ]);
  return site.show(request, reply, {
    title: 'Playground',
    name: 'Playground',
    still: [
      html`<p>Try an expression for a sink’s <code>where</code> or <code>fields</code>. Nothing is stored or sent.</p>`,
      form(input, leads.rows, sinks, language),
      html`<div id="answer" aria-live="polite">${answerSection(answer, input.expression)}</div>`,
      reference(language),
    ],
    address: '/playground',
    ...(answer && 'problem' in answer ? { status: answer.problem.status } : {}),
  });
}

function form(
  { lead, other, sink, expression }: Input,
  leads: readonly LeadRow[],
  sinks: readonly SinkOverview[],
  { max_characters }: ExpressionLanguage,
): VNode {
  const known = leads.map((row): Choice => {
    const key = `${row.source}:${row.lead_id}`;
    return [key, row.service_slug ? `${key}, ${row.service_slug}` : key];
  });
  const leadChoices = choices(['', 'the sample lead'], known, lead);
  const sinkChoices = choices(['', 'no sink'], configured(sinks), sink);
  return html`<form class="playground" method="post" action="/playground">
    <p class="field"><label for="try-lead">Lead</label>${select('lead', leadChoices, lead)}</p>
    <p class="field">
      <label for="try-other">Or another lead, by its id</label>
      <input id="try-other" name="other" value=${other} autocomplete="off" spellcheck=${false} placeholder=${`${leads[0]?.source ?? 'source'}:${leads[0]?.lead_id ?? 'id'}`} />
    </p>
    <p class="field"><label for="try-sink">Sink, for its region</label>${select('sink', sinkChoices, sink)}</p>
    <p class="field wide">
      <label for="try-expression">Expression</label>
      <textarea id="try-expression" name="expression" rows="3" required maxlength=${max_characters} spellcheck=${false}
        autocomplete="off" autocapitalize="off" aria-describedby="try-hint" placeholder="name(lead.client_name).first">${expression}</textarea>
    </p>
    <p id="try-hint" class="hint wide">For any lead but the sample lead, the value is personal data. The audit log records each reader.</p>
    <p class="buttons wide">
      <button class="primary" hx-post="/playground" hx-select="#result" hx-target="#answer" hx-swap="innerHTML" hx-sync="drop">Evaluate</button>
    </p>
  </form>`;
}

type Choice = readonly [value: string, label: string];

/** Returns the sinks that the configuration has. */
function configured(sinks: readonly SinkOverview[]): readonly Choice[] {
  return sinks.filter(({ state }) => state !== 'orphaned').map(({ sink }) => [sink, sink]);
}

/** Returns the choices, with the current one if it is not among them. */
function choices(none: Choice, known: readonly Choice[], current: string): readonly Choice[] {
  const isKnown = current === '' || known.some(([value]) => value === current);
  return [none, ...(isKnown ? [] : [[current, current] as const]), ...known];
}

function select(name: string, options: readonly Choice[], current: string): VNode {
  return html`<select id=${`try-${name}`} name=${name}>${options.map(
    ([value, label]) => html`<option value=${value} selected=${value === current}>${label}</option>`,
  )}</select>`;
}

function answerSection(answer: Answer | undefined, expression: string): Content {
  if (answer === undefined) return null;
  if ('problem' in answer) {
    const { message, hint } = answer.problem;
    return html`<section id="result"><h2>No value</h2><p class="fault">${formattedText(message)} ${formattedText(hint)}</p></section>`;
  }
  const { tried, lead } = answer;
  const of = lead
    ? html`<a href=${leadAddress(lead.source, lead.lead)}>lead ${lead.lead} of ${lead.source}</a>`
    : 'the sample lead';
  if (tried.kind === 'value')
    return html`<section id="result">
      <h2>Value <small>${tried.type}, for ${of}</small></h2>
      <pre tabindex="0">${textOfJson(tried.json)}</pre>
    </section>`;
  const { kind, message, hint, place } = tried;
  return html`<section id="result">
    <h2>${kind === 'fault' ? 'The expression has a fault' : 'The expression fails'} <small>${kind === 'failed' && html`for ${of}`}</small></h2>
    ${place && html`<pre class="marked" tabindex="0">${marked(expression, place)}</pre>`}
    <p class="fault">${[place && `${positionOf(expression, place.start)}: `, formattedText(message), hint && ['; ', formattedText(hint)]]}</p>
  </section>`;
}

type Place = { readonly start: number; readonly end: number };

/** Returns an expression with the characters at fault marked. If the fault is at the end of the expression, marks a space after it. */
function marked(expression: string, { start, end }: Place): Content {
  const part = expression.slice(start, end);
  return [expression.slice(0, start), html`<mark>${part || ' '}</mark>`, expression.slice(end)];
}

/** Returns the position of a character in an expression: its column and, if there are several lines, its line. */
function positionOf(expression: string, offset: number): string {
  const before = expression.slice(0, offset).split('\n');
  const column = `column ${(before.at(-1) ?? '').length + 1}`;
  return expression.includes('\n') ? `Line ${before.length}, ${column}` : `C${column.slice(1)}`;
}

function reference({ variables, functions, others }: ExpressionLanguage): VNode {
  return html`<section>
    <h2>What an expression can use</h2>
    <div class="pair">
      <dl class="data">${variables.map(({ name, content }) => term(name, content))}</dl>
      <dl class="data">${functions.map(({ usage, result }) => term(usage, result))}</dl>
    </div>
    <p class="hint">
      Text is in double quotes. Compare with <code>==</code> and <code>!=</code>; <code>&&</code> is “and”, <code>||</code> is “or”, <code>!</code> is “not”.
    </p>
    <p class="hint">
      The language is CEL (cel.dev), which also has ${others.map((name, at) => [at > 0 && ', ', html`<code>${name}</code>`])}.
    </p>
    <p class="hint">The file <code>mapping.md</code> in leadsync’s documentation explains expressions and has recipes.</p>
  </section>`;
}

function term(name: string, meaning: string): VNode {
  return html`<div><dt>${name}</dt><dd>${formattedText(meaning)}</dd></div>`;
}
