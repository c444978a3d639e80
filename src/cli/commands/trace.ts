import { Argument } from 'commander';
import type { LeadId } from '../../leads/lead.ts';
import type { TraceEntry } from '../../ledger/contract/status-rows.ts';
import { printable, printJson } from '../../platform/text/printable.ts';
import { readLeadId } from '../arguments/filter.ts';
import { requireName, sourceNames } from '../arguments/names.ts';
import { unknownLead } from '../arguments/unknown-lead.ts';
import { defineCommand } from '../shell/command.ts';
import { commandFormatter, readableConfigOf, widthOf, withLedger } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { recordAction } from '../shell/record-action.ts';
import { table } from '../shell/table.ts';
import { recordPhrase } from '../views/destination-record.ts';

interface Options {
  readonly source?: string;
  readonly showData?: boolean;
  readonly json?: boolean;
}

/** `leadsync trace LEAD`: shows the complete history of one lead. */
export const command = defineCommand<Options>({
  examples: ['leadsync trace 42', 'leadsync trace 42 --source main --show-data', 'leadsync trace 42 --json'],
  notes:
    'Times are in UTC. The id of a delivery is sink:source:lead:version:hash; its receiver gets the same id. A replay adds :r and its time. A retry under a changed mapping adds :m and a number.',
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
      : timeline(entries, options, widthOf(surroundings));
    surroundings.stdout.write(text);
    if (!options.showData && entries.some(({ answer }) => answer !== undefined))
      surroundings.stderr.write(
        "--show-data also shows the destinations' answers, which may hold personal data.\n",
      );
    return ExitCode.done;
  },
});

function timeline(entries: readonly TraceEntry[], { showData }: Options, width: number | undefined): string {
  const rows = entries.flatMap((entry) => {
    const detail = [entry.detail, entry.ref && recordPhrase(entry.ref)].filter(Boolean).join(', ');
    const row = [entry.at.toISOString(), entry.what, entry.delivery ?? '', printable(detail)];
    return showData && entry.answer !== undefined
      ? [row, ['', '', '', `answer: ${printable(entry.answer)}`]]
      : [row];
  });
  return table([{ head: 'AT' }, { head: 'WHAT' }, { head: 'DELIVERY' }, { head: 'DETAIL' }], rows, width);
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
