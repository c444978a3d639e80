import { MAX_PREVIEWED } from '../../admin/contract/operations.ts';
import type { LeadPreviews, TriedExpression } from '../../admin/contract/previews.ts';
import { RequestError } from '../../admin/contract/request-error.ts';
import type { SinkConfig } from '../../config/contract/config.ts';
import type { Delivery } from '../../leads/delivery.ts';
import type { LeadId } from '../../leads/lead.ts';
import { type MappedFields, mappedJson } from '../../leads/mapped-fields.ts';
import type { AskLedger } from '../../ledger/contract/ledger-pages.ts';
import { mapOne } from '../../mapping/map-delivery.ts';
import { MAX_LEAD_CHARACTERS } from '../../mapping/mapping.ts';
import { sampleDelivery } from '../../mapping/sample-lead.ts';
import { MappingEnded, type MappingProcess } from '../../mapping/start-mapping-process.ts';
import { tryExpression } from '../../mapping/try-expression.ts';
import { notOwed, type PreviewResult, preview, previewNote } from '../../operations/preview.ts';
import { sentence } from '../../platform/text/human-readable.ts';
import type { Preview } from '../../sinks/sink.ts';
import { commandInText } from '../../status/problems/problem.ts';
import type { Parts } from '../start/parts.ts';

/** What the functions in this file need. `query` runs one of the `PageQueries`. @throws RequestError */
interface PreviewParts {
  readonly parts: Pick<Parts, 'current' | 'clock' | 'rewriteCommands'>;
  readonly mappings: MappingProcess;
  readonly query: AskLedger;
}

type SinkPreviews = LeadPreviews['sinks'][number];

interface LeadName {
  readonly source: string;
  readonly lead: LeadId;
}

/**
 * Returns the previews of a lead for each configured sink. Applies mappings in another process and handles the sinks one after another, so that
 * deliveries wait for the preview of at most one sink.
 */
export async function leadPreviews(name: LeadName, context: PreviewParts): Promise<SinkPreviews[]> {
  const previews: SinkPreviews[] = [];
  for (const sink of context.parts.current.config.sinks)
    previews.push(await sinkPreviews(name, sink, context));
  return previews;
}

async function sinkPreviews(
  { source, lead }: LeadName,
  sink: SinkConfig,
  { parts, mappings, query }: PreviewParts,
): Promise<SinkPreviews> {
  const { clock, rewriteCommands, current } = parts;
  const upcoming = await query('upcoming', sink.name, source, lead);
  const common = {
    sink: sink.name,
    type: sink.type.type,
    delivery_state: upcoming?.state ?? null,
    note: null,
    fields: null,
    previews: [],
  };
  const withheld = (reason: string) => ({
    ...common,
    state: 'withheld' as const,
    reason,
  });
  if (upcoming === undefined) return withheld(NO_CONTENT);
  const note = previewNote(upcoming, sink, clock.now(), commandInText, { hasActions: true });
  const why = sink.enabled ? notOwed(upcoming, sink) : note;
  const owed =
    why === undefined
      ? { state: 'sent' as const, reason: null, note: note === undefined ? null : rewriteCommands(note) }
      : { state: 'withheld' as const, reason: sink.enabled ? sentenceOf(why) : why, note: null };
  if (sink.mapping === undefined && isLarge(upcoming.delivery))
    return { ...common, ...owed, note: rewriteCommands(tooLargeNote(sink.name, lead)) };
  const map = (delivery: Delivery, ofSink: { sink: string; mapping?: string | undefined }) =>
    isLarge(delivery)
      ? mapOne(delivery, ofSink, current.config.clientKey)
      : mappings.run('map', { delivery, ofSink });
  const { publicUrl } = current.config;
  const result = await preview(sink, upcoming.delivery, { clock, publicUrl, map }).catch(ended);
  if ('withheld' in result) return withheld(sentenceOf(result.withheld));
  const { fields, previews } = result;
  return {
    ...common,
    ...owed,
    fields: fields === undefined ? null : fieldsOf(fields),
    previews: previews.map(shortened),
  };
}

/**
 * Whether a lead is so large that every mapping refuses it. A mapping does so before it reads the lead, so no other process is needed. Such a lead
 * gets no preview for a sink without a mapping, because previewing the largest lead would delay deliveries by a second.
 */
function isLarge({ raw }: Delivery): boolean {
  return raw.length > MAX_LEAD_CHARACTERS;
}

function tooLargeNote(sink: string, lead: LeadId): string {
  return `The lead has more than 1 MB of text. ${commandInText(`preview --sink ${sink} --lead ${lead}`)} shows what ${sink} would get.`;
}

/** Explains that a lead has no content that could be shown. */
const NO_CONTENT =
  'The ledger has no content of this lead: it was rejected or erased, or `retention` removed its content.';

/** Returns the result for a mapping process that ended without one. @throws any other error unchanged */
function ended(error: unknown): PreviewResult {
  if (!(error instanceof MappingEnded)) throw error;
  return { withheld: `The mapping could not be shown. ${error.message} ${error.hint}` };
}

function unavailable({ message, hint }: MappingEnded): RequestError {
  return new RequestError(503, 'expressions-busy', message, hint);
}

function sentenceOf(phrase: string): string {
  return sentence(`${phrase.charAt(0).toUpperCase()}${phrase.slice(1)}`);
}

function fieldsOf(fields: MappedFields): { name: string; json: string }[] {
  return [...fields].map(([name, value]) => ({ name, json: cut(mappedJson(value)) }));
}

function shortened({ target, fields, content }: Preview): SinkPreviews['previews'][number] {
  const texts = Object.entries(fields).map(([name, value]) => ({ name, value: String(value) }));
  const isLong = [content ?? '', ...texts.map(({ value }) => value)].some(
    ({ length }) => length > MAX_PREVIEWED,
  );
  return {
    target,
    fields: texts.map(({ name, value }) => ({ name, value: cut(value) })),
    content: content === undefined ? null : cut(content),
    truncated: isLong,
  };
}

function cut(text: string): string {
  return text.slice(0, MAX_PREVIEWED).toWellFormed();
}

/**
 * Evaluates an expression in another process, for a lead or, without `key`, for the sample lead. `sink` supplies the `region` and the variable
 * `delivery`. A lead of more than 1 MB is refused without a process. @throws RequestError
 */
export async function tryOnLead(
  request: {
    readonly expression: string;
    readonly sink: string | undefined;
    readonly key: LeadName | undefined;
  },
  context: PreviewParts,
): Promise<TriedExpression> {
  const { config } = context.parts.current;
  const { expression, sink, key } = request;
  const region = sink === undefined ? undefined : sinkNamed(sink, config.sinks).region;
  const delivery = key === undefined ? sampleDelivery({}) : await deliveryOf(key, sink, context);
  try {
    const toTry = { expression, region, lookups: config.lookups };
    if (isLarge(delivery)) return tryExpression(toTry, delivery, config.clientKey);
    return await context.mappings.run('try', { delivery, expression: toTry });
  } catch (error) {
    if (!(error instanceof MappingEnded)) throw error;
    if (!error.isTooMuch) throw unavailable(error);
    return { kind: 'failed', message: error.message, hint: error.hint, place: null };
  }
}

function sinkNamed(name: string, sinks: readonly SinkConfig[]): SinkConfig {
  const found = sinks.find((sink) => sink.name === name);
  if (found) return found;
  const hint = `The sinks are: ${sinks.map((sink) => sink.name).join(', ')}.`;
  const renamed = sinks.find(({ formerly }) => formerly === name);
  const what = `There is no sink "${name}"${renamed ? `: it was renamed to ${renamed.name}.` : '.'}`;
  throw new RequestError(404, 'unknown-sink', what, hint);
}

/** Sink name in the delivery of a lead on which an expression is tried without a sink. */
const NO_SINK = 'none';

async function deliveryOf(
  { source, lead }: LeadName,
  sink: string | undefined,
  { query }: PreviewParts,
): Promise<Delivery> {
  const upcoming = await query('upcoming', sink ?? NO_SINK, source, lead);
  if (upcoming && upcoming.delivery.event !== 'erased') return upcoming.delivery;
  if ((await query('lead', source, lead)) === undefined)
    throw new RequestError(
      404,
      'unknown-lead',
      `Lead ${lead} of ${source} is not in the ledger: no listing has contained it so far.`,
      'Choose one of the latest leads, or look for the id under Leads.',
    );
  throw new RequestError(404, 'no-content', NO_CONTENT, 'Choose another lead, or the sample lead.');
}
