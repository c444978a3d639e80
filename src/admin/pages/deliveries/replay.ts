import type { FastifyReply, FastifyRequest } from 'fastify';
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { z } from 'zod';
import { countOf, printCount } from '../../../platform/text/human-readable.ts';
import { ReplayFilter, type ReplayTotals } from '../../contract/deliveries.ts';
import { RequestError } from '../../contract/request-error.ts';
import {
  type Field,
  filterFields,
  type ParsedFilter,
  queryOf,
  readFilter,
  sourceField,
} from '../lists/filters.ts';
import { leadAddress, replayAddress, sinkAddress } from '../parts/addresses.ts';
import { IdempotentSubmit } from '../parts/idempotent-submit.ts';
import { type AddPage, fieldsOf, type Site } from '../parts/site.ts';
import { sourcesOf } from '../sources/source-state.ts';
import { stateChoices } from './delivery-filter.ts';

const PATH = '/replay';
/** Maximum number of ids in the form, whose size is limited. The command line accepts more. */
const MAX_IDS = 3_000;
/** A lead id, or the id of a delivery. */
const ID = /^(\d{1,19}|[^\s:]+:[^\s:]+:\d{1,19}:[^\s]{1,200})$/;

/** The fields of the form, apart from the ids. */
const Choice = ReplayFilter.omit({ left_out: true }).extend({
  sink: z.string(),
  which: z.enum(['left_out', 'all']).optional(),
});
type Choice = z.infer<typeof Choice>;

/**
 * Adds the page that replays leads to a sink. It first shows a form, then the number of matching leads with a sample of them, and then starts
 * the replay.
 */
export const addReplay: AddPage = (app, site) => {
  app.get(PATH, { config: { operation: 'replayable' } }, async (request, reply) => {
    const fields = await fieldsFor(site);
    const parsed = readFilter(queryOf(request), fields, Choice, new Date());
    return show(site, request, reply, { fields, parsed: { ...parsed, faults: {} }, ids: '' });
  });
  const once = new IdempotentSubmit<number>();
  app.post(PATH, { config: { operation: 'replayAll' } }, (request, reply) =>
    replay(site, once, request, reply),
  );
};

interface Form {
  readonly fields: readonly Field[];
  readonly parsed: ParsedFilter<Choice>;
  /** The text of the list of ids. */
  readonly ids: string;
  /** Why nothing was done. */
  readonly fault?: string | undefined;
}

async function fieldsFor(site: Site): Promise<readonly Field[]> {
  const { sources } = await sourcesOf(site);
  const sinks = (await site.operations.sinks()).filter(({ state }) => state !== 'orphaned');
  return [
    {
      name: 'sink',
      label: 'Sink',
      choices: sinks.map(({ sink }) => [sink, sink] as const),
      none: 'choose one',
    },
    {
      name: 'which',
      label: 'Leads',
      none: 'those that match',
      choices: [
        ['left_out', 'those that match and were left out by where'],
        ['all', 'every lead in the ledger'],
      ],
    },
    sourceField(sources),
    { name: 'lead', label: 'Lead', number: true },
    { name: 'since', label: 'First seen or changed since', time: true },
    { name: 'until', label: 'First seen or changed until', time: true },
    { name: 'delivered_since', label: 'Delivered to the sink since', time: true },
    { name: 'delivered_until', label: 'Delivered to the sink until', time: true },
    {
      name: 'state',
      label: 'State of a delivery to the sink',
      choices: stateChoices,
    },
    { name: 'reason', label: 'Reason or HTTP status of that delivery' },
  ];
}

async function replay(
  site: Site,
  once: IdempotentSubmit<number>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const sent = fieldsOf(request);
  const fields = await fieldsFor(site);
  const query = new URLSearchParams(
    [...sent].filter(([name]) => fields.some((field) => field.name === name)),
  );
  const parsed = readFilter(query, fields, Choice, new Date());
  const text = sent.get('ids') ?? '';
  const ids = [...new Set(text.split(/[\s,;]+/).filter(Boolean))];
  const fault = parsed.filter ? faultOf(parsed.filter, ids) : 'See the marked fields.';
  if (parsed.filter === undefined || fault !== undefined)
    return show(site, request, reply, { fields, parsed, ids: text, fault }, 400);
  const { sink, which, ...conditions } = parsed.filter;
  const leftOut = which === 'left_out' ? { left_out: true as const } : {};
  const filter = { ...conditions, ...leftOut, ...(ids.length > 0 && { ids }) };
  if (sent.has('sure')) {
    const count = await once.run(sent, () => site.operations.replayAll(sink, filter));
    return site.done(reply, sinkAddress(sink), {
      kind: count > 0 ? 'good' : 'bad',
      text: `${countOf(count, 'lead')} ${count === 1 ? 'is' : 'are'} owed to ${sink} again.`,
    });
  }
  let totals: ReplayTotals;
  try {
    totals = await site.operations.replayable(sink, filter);
  } catch (error) {
    if (!(error instanceof RequestError) || error.status >= 500) throw error;
    return show(site, request, reply, { fields, parsed, ids: text, fault: error.message }, error.status);
  }
  const kept = Object.entries(parsed.filter).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return site.confirm(request, reply, {
    ...question(sink, totals, which === 'left_out'),
    fields: [...kept, ['ids', ids.join(' ')], once.field()],
    // The ids are too long for an address, and without them the other fields would select more leads.
    back: replayAddress(ids.length > 0 ? { sink } : Object.fromEntries(kept)),
  });
}

/** Returns why the replay cannot be carried out, as a sentence; undefined if it can. */
function faultOf({ sink: _, which, ...conditions }: Choice, ids: readonly string[]): string | undefined {
  const wrong = ids.findIndex((id) => !ID.test(id));
  // Does not repeat the text, which may be anything that was pasted.
  if (wrong >= 0) return `Id ${printCount(wrong + 1)} of the list is neither a lead id nor a delivery id.`;
  if (ids.length > MAX_IDS)
    return `The list has ${printCount(ids.length)} ids; the page accepts at most ${printCount(MAX_IDS)}.`;
  const hasCondition = ids.length > 0 || Object.values(conditions).some((value) => value !== undefined);
  if (which === 'all' && hasCondition)
    return 'Choose either every lead in the ledger or those that match, not both.';
  if (which === undefined && !hasCondition) return 'Choose leads by a field, or every lead in the ledger.';
  const { since, until, delivered_since, delivered_until } = conditions;
  const isReversed = (from?: string, to?: string) => from !== undefined && to !== undefined && from >= to;
  if (isReversed(since, until) || isReversed(delivered_since, delivered_until))
    return 'The end of a period must be after its beginning.';
  return undefined;
}

function question(sink: string, { leads, sources, sample, unmatched }: ReplayTotals, onlyLeftOut: boolean) {
  const title = `Replay to ${sink}`;
  const missing =
    unmatched.length > 0 &&
    html`<p>${countOf(unmatched.length, 'id')} of the list ${unmatched.length === 1 ? 'selects' : 'select'} no lead.</p>`;
  if (leads === 0)
    return {
      title,
      question: 'There is nothing to replay',
      consequences: html`${missing}<p>No lead with content matches. Leads that were erased, or whose content was removed by <code>retention</code>, cannot be sent again.</p>`,
    };
  const words = countOf(leads, 'lead');
  const more = leads - sample.length;
  return {
    title,
    question: `Send ${words} to ${sink} again?`,
    consequences: html`<p>${sink} gets the current content of each${onlyLeftOut ? ', which it has not had so far' : ', whether it has it or not'}, as a new delivery that is marked as a replay${sources.length > 1 ? `. They are from ${sources.join(', ')}` : ''}.
      The page of the sink shows how many are left, and has a button to cancel those.</p>
      ${missing}
      <p>${sample.map(({ source, lead_id }, at) => html`${at > 0 && ', '}<a href=${leadAddress(source, lead_id)}>${source} ${lead_id}</a>`)}${more > 0 && ` and ${printCount(more)} more`}</p>`,
    confirmLabel: `Send ${words}`,
  };
}

function show(
  site: Site,
  request: FastifyRequest,
  reply: FastifyReply,
  form: Form,
  status = 200,
): Promise<FastifyReply> {
  return site.show(request, reply, {
    title: 'Replay leads',
    name: 'Sinks',
    still: formOf(form),
    address: PATH,
    status,
  });
}

function formOf({ fields, parsed, ids, fault }: Form): VNode {
  return html`<section id="replay">
    <p>Delivers leads to a sink again, for example leads that its destination has lost. To try failed deliveries again, retry them under <a href="/deliveries?state=dead">Deliveries</a>.</p>
    ${fault !== undefined && html`<p class="notice bad" role="alert">Nothing was done. ${fault}</p>`}
    <form class="filter" method="post" action=${PATH} data-filter>
      ${filterFields(fields, parsed)}
      <p class="field whole">
        <label for="ids">Ids of leads or of deliveries to the sink</label>
        <textarea id="ids" name="ids" rows="4" autocomplete="off" spellcheck=${false} aria-describedby="ids-hint">${ids}</textarea>
        <small id="ids-hint" class="hint">Separated by spaces or lines, at most ${printCount(MAX_IDS)}.</small>
      </p>
      <p class="buttons"><button class="primary">Count…</button></p>
    </form>
  </section>`;
}
