import { Argument } from 'commander';
import type { LeadId } from '../../leads/lead.ts';
import type { TraceEntry } from '../../ledger/contract/status-rows.ts';
import { countOf, printSpan } from '../../platform/text/human-readable.ts';
import { printable, printJson } from '../../platform/text/printable.ts';
import { readLeadId } from '../arguments/filter.ts';
import { requireName, sourceNames } from '../arguments/require-name.ts';
import { unknownLead } from '../arguments/unknown-lead.ts';
import { type Paint, paintFor } from '../shell/colour.ts';
import { defineCommand } from '../shell/command.ts';
import {
  commandFormatter,
  readableConfigOf,
  type Surroundings,
  widthOf,
  withLedger,
} from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { recordAction } from '../shell/record-action.ts';
import { table } from '../shell/table.ts';
import { recordPhrase } from '../views/destination-record.ts';
import { eventTone } from '../views/tones.ts';

/** Width of a terminal, in columns, below which each date has its own line, and the sink takes the place of the id of a delivery. */
const NARROW = 110;

interface Options {
  readonly source?: string;
  readonly showData?: boolean;
  readonly json?: boolean;
}

/** `leadsync trace LEAD`: shows the complete history of one lead. */
export const command = defineCommand<Options>({
  examples: ['leadsync trace 42', 'leadsync trace 42 --source main --show-data', 'leadsync trace 42 --json'],
  notes:
    'Times are in UTC. AFTER is the time since the event before. On a terminal of less than 110 columns, each date is on a line of its own, and the sink takes the place of the id of a delivery. The id of a delivery is sink:source:lead:version:hash; its receiver gets the same id. A replay adds :r and its time. A retry under a changed mapping adds :m and a number.',
  declare: (command) =>
    command
      .addArgument(new Argument('<lead>', "the lead's id").argParser(readLeadId))
      .option('--source <name>', 'the source, if several sources have a lead with that id')
      .option('--show-data', "also show the destinations' answers, which may hold personal data")
      .option('--json', 'print the history as JSON'),
  run: async (options, surroundings, [lead = '']) => {
    const config = readableConfigOf(options, surroundings);
    const id = readLeadId(lead);
    if (options.showData)
      await recordAction(config, surroundings, 'reveal', {
        ...(options.source && { source: options.source }),
        lead: String(id),
        as: 'trace',
      });
    const entries = await withLedger(config, surroundings, async (ledger) => {
      if (options.source !== undefined)
        requireName('source', options.source, sourceNames(config, await ledger.status()));
      return ledger.trace(id, options.source);
    });
    if (entries.length === 0) throw unknownLead(id, options.source, commandFormatter(options, surroundings));
    const text = options.json
      ? printJson(traceJson(id, entries, options))
      : timeline(entries, options, surroundings);
    surroundings.stdout.write(text);
    if (!options.showData && entries.some(({ answer }) => answer !== undefined))
      surroundings.stderr.write(
        "--show-data also shows the destinations' answers, which may hold personal data.\n",
      );
    return ExitCode.done;
  },
});

function timeline(entries: readonly TraceEntry[], { showData }: Options, surroundings: Surroundings): string {
  const width = widthOf(surroundings);
  const shown = {
    isNarrow: width !== undefined && width < NARROW,
    showData: showData === true,
    paint: paintFor(surroundings),
  };
  const rows = withOwedGrouped(entries).flatMap((entry, index, all) => {
    const isNewDay = shown.isNarrow && dayOf(entry) !== dayOf(all[index - 1]);
    return [...(isNewDay ? [[dayOf(entry)]] : []), ...rowsOf(entry, gap(all[index - 1], entry), shown)];
  });
  const [at, subject] = shown.isNarrow ? (['AT (UTC)', 'SINK'] as const) : (['AT', 'DELIVERY'] as const);
  return table(
    [
      { head: at },
      { head: 'AFTER', align: 'right', dropOrder: 1 },
      { head: 'WHAT' },
      { head: subject },
      { head: 'DETAIL' },
    ],
    rows,
    width,
  );
}

function rowsOf(
  { what, at, sink = '', sinks, delivery = '', detail, ref, answer }: TimelineEntry,
  after: string,
  { isNarrow, showData, paint }: { isNarrow: boolean; showData: boolean; paint: Paint },
): string[][] {
  const subject = sinks ? countOf(sinks, 'sink') : isNarrow ? sink : delivery;
  const row = [
    isNarrow ? at.toISOString().slice(11, -1) : at.toISOString(),
    after,
    paint(eventTone(what), what),
    printable(subject),
    printable([detail, ref && recordPhrase(ref)].filter(Boolean).join(', ')),
  ];
  return showData && answer !== undefined ? [row, ['', '', '', '', `answer: ${printable(answer)}`]] : [row];
}

/** Returns the time since the event before: `+1.5 s`; an empty string for the first event, and for one at the same time. */
function gap(before: TraceEntry | undefined, { at }: TraceEntry): string {
  const ms = before ? at.getTime() - before.at.getTime() : 0;
  return ms > 0 ? `+${printSpan(ms)}` : '';
}

function dayOf(entry: TraceEntry | undefined): string {
  return entry?.at.toISOString().slice(0, 10) ?? '';
}

/** An event of the timeline. `sinks`: the number of sinks that it concerns, if there are several. */
interface TimelineEntry extends TraceEntry {
  readonly sinks?: number;
}

/** Merges deliveries that were owed at the same time for the same reason into one entry, which names their sinks. */
function withOwedGrouped(entries: readonly TraceEntry[]): TimelineEntry[] {
  const groups = Map.groupBy(entries, (entry) => (entry.what === 'owed' ? owedKey(entry) : entry));
  return [...groups.values()].flatMap(([first, ...others]) => {
    if (first === undefined || others.length === 0) return first ?? [];
    const names = [first, ...others].map(({ sink }) => sink).sort();
    return { ...first, sinks: names.length, detail: `${first.detail}: ${names.join(', ')}` };
  });
}

/** Returns a key that the deliveries of one version of a lead share: all but the sink. */
function owedKey({ at, detail, delivery = '' }: TraceEntry): string {
  return [at.getTime(), detail, ...delivery.split(':').slice(1)].join(':');
}

function traceJson(lead: LeadId, entries: readonly TraceEntry[], { showData }: Options) {
  const events = entries.map(({ at, what, sink, delivery, detail, answer, ref }) => ({
    at,
    what,
    sink: sink ?? null,
    delivery_id: delivery ?? null,
    detail: detail ?? null,
    ref: ref ?? null,
    ...(showData ? { answer: answer ?? null } : {}),
  }));
  return { lead_id: String(lead), events };
}
