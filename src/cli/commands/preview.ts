import type { SinkConfig } from '../../config/contract/config.ts';
import type { LeadId } from '../../leads/lead.ts';
import { LEFT_OUT } from '../../leads/outcome.ts';
import type { Upcoming } from '../../ledger/contract/status-rows.ts';
import { mapOne } from '../../mapping/map-delivery.ts';
import { notOwed, previewNote, preview as previewOf } from '../../operations/preview.ts';
import { printable, printableLines, printJson } from '../../platform/text/printable.ts';
import type { Preview } from '../../sinks/sink.ts';
import { readLeadId } from '../arguments/filter.ts';
import { requireName, requireSink, sourceNames } from '../arguments/require-name.ts';
import { unknownLead } from '../arguments/unknown-lead.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { commandFormatter, configOf, type ShowCommand, withLedger } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { recordAction } from '../shell/record-action.ts';

interface Options {
  readonly sink: string;
  readonly lead: LeadId;
  readonly source?: string;
  readonly json?: boolean;
}

/** `leadsync preview`: shows what a sink would send for a lead. The code that sends leads also produces the preview. */
export const command = defineCommand<Options>({
  examples: [
    'leadsync preview --sink crm --lead 42',
    'leadsync preview --sink drop --lead 42 --source main --json',
  ],
  notes:
    'The output contains the personal data of the lead. Secrets are masked; a signature is computed for the current time. The number in a file name is assigned only when the file is written. With --json every character is as it would be sent; otherwise terminal control characters are escaped.',
  declare: (command) =>
    command
      .requiredOption('--sink <name>', 'the sink that would get the lead')
      .requiredOption('--lead <id>', "the lead's id", readLeadId)
      .option('--source <name>', 'the source, if several sources have a lead with that id')
      .option('--json', 'print the preview as JSON'),
  run: async (options, surroundings) => {
    const { sink: name, lead, source } = options;
    const config = configOf(options, surroundings);
    const { clock, stdout, stderr } = surroundings;
    const command = commandFormatter(options, surroundings);
    requireSink(name, config);
    const sink = config.sinks.find((one) => one.name === name) as SinkConfig;
    const found = await withLedger(config, surroundings, async (ledger) => {
      requireName('source', source, sourceNames(config, await ledger.status()));
      const upcoming = await ledger.upcoming(name, lead, source);
      if (upcoming.length === 0 && (await ledger.trace(lead, source)).length > 0)
        throw withoutContent(lead, command);
      return upcoming;
    });
    const upcoming = requireOne(found, lead, source, command);
    requireSent(upcoming, sink, command);
    const of = { sink: name, source: upcoming.delivery.source, lead: String(lead) };
    await recordAction(config, surroundings, 'reveal', { ...of, as: 'previews' });
    const result = await previewOf(sink, upcoming.delivery, {
      clock,
      publicUrl: config.publicUrl,
      map: (delivery, ofSink) => mapOne(delivery, ofSink, config.clientKey),
    });
    if ('withheld' in result) throw withheld(result.withheld, upcoming.delivery.leadId, sink);
    const shown = result.previews;
    stdout.write(options.json ? printJson(shown) : shown.map(printed).join('\n'));
    const note = previewNote(upcoming, sink, clock.now(), command);
    if (note) stderr.write(`${note}\n`);
    return ExitCode.done;
  },
});

function withheld(reason: string, lead: LeadId, { name }: SinkConfig): CommandFailure {
  return new CommandFailure(
    ExitCode.notDone,
    `${printable(name)} would not get lead ${lead}: ${printable(reason)}`,
    'The options `where` and `fields` of the sink decide this.',
  );
}

function withoutContent(lead: LeadId, command: ShowCommand): CommandFailure {
  return new CommandFailure(
    ExitCode.notDone,
    `The ledger has no content of lead ${lead} to send: it was rejected or erased, or \`retention\` removed its content.`,
    `${command(`trace ${lead}`)} shows what happened to it.`,
  );
}

function requireOne(
  found: readonly Upcoming[],
  lead: LeadId,
  source: string | undefined,
  command: ShowCommand,
): Upcoming {
  const [one, another] = found;
  if (!one) throw unknownLead(lead, source, command);
  if (!another) return one;
  throw new CommandFailure(
    ExitCode.usage,
    `Several sources have a lead ${lead}: ${found.map(({ delivery }) => printable(delivery.source)).join(', ')}.`,
    'Name one of them with --source.',
  );
}

/** @throws CommandFailure if the sink does not get the lead */
function requireSent(upcoming: Upcoming, sink: SinkConfig, command: ShowCommand): void {
  const name = printable(sink.name);
  const { delivery } = upcoming;
  const why = notOwed(upcoming, sink);
  if (why === undefined) return;
  const replay = command(
    `replay --sink ${name} --lead ${delivery.leadId} --source ${printable(delivery.source)}`,
  );
  throw new CommandFailure(
    ExitCode.notDone,
    `${name} does not get lead ${delivery.leadId}, so there is no preview: ${printable(why)}.`,
    why.startsWith(LEFT_OUT)
      ? `Once \`where\` lets the lead through, ${replay} delivers it.`
      : `${replay} delivers it anyway.`,
  );
}

function printed({ target, fields, content }: Preview): string {
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`);
  const head = [target, ...lines].map((line) => `${printable(line)}\n`).join('');
  if (content === undefined) return head;
  const text = printableLines(content.replaceAll('\r\n', '\n'));
  return `${head}\n${text}${text.endsWith('\n') ? '' : '\n'}`;
}
