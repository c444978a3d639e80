import { fieldsOfDestination } from '../../operations/prepare-sink.ts';
import { listenForStop } from '../../platform/process/stop-signals.ts';
import { printable, printJson } from '../../platform/text/printable.ts';
import type { DestinationField } from '../../sinks/destination-parts.ts';
import { SinkUnavailable } from '../../sinks/sink-unavailable.ts';
import { requireSink } from '../arguments/require-name.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { configOf, widthOf } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { type Column, table } from '../shell/table.ts';

/** Maximum number of a field's options that the table shows. */
const MAX_OPTIONS = 8;

/** `leadsync fields SINK`: lists the fields of a destination, for the option `fields`. */
export const command = defineCommand<{ json?: boolean }>({
  examples: ['leadsync fields warehouse', "leadsync fields warehouse --json | jq '.[].name'"],
  notes:
    'The option `fields` of the sink accepts the names that this command lists. Reads the destination and changes nothing. Exit 0, or 69 if the destination cannot be read.',
  declare: (command) => command.option('--json', 'print the fields as JSON, with all options of each'),
  run: async (options, surroundings, [name = '']) => {
    const config = configOf(options, surroundings);
    const { clock, stdout } = surroundings;
    requireSink(name, config);
    const stop = listenForStop(() => process.exit(ExitCode.notDone));
    const fields = await fieldsOfDestination(config, name, { clock, signal: stop.signal })
      .catch((error) => {
        if (!(error instanceof SinkUnavailable)) throw error;
        const { message, hint } = error;
        throw new CommandFailure(
          ExitCode.unreachable,
          `sink ${printable(name)}: ${printable(message)}`,
          printable(hint),
        );
      })
      .finally(() => stop.release());
    if (fields === undefined)
      throw new CommandFailure(
        ExitCode.notDone,
        `The destination of ${printable(name)} has no list of fields.`,
        'A sink of this type accepts any name in `fields`.',
      );
    if (options.json) stdout.write(printJson(fields.map(jsonOf)));
    else stdout.write(printedTable(fields, widthOf(surroundings)));
    return ExitCode.done;
  },
});

const COLUMNS: readonly Column[] = [
  { head: 'FIELD' },
  { head: 'LABEL', dropOrder: 2 },
  { head: 'TYPE' },
  { head: 'LENGTH', align: 'right', dropOrder: 1 },
  { head: 'NOTES' },
];

/** Returns the fields as a table without the columns that are empty for all of them. */
function printedTable(fields: readonly DestinationField[], room: number | undefined): string {
  const rows = fields.map(rowOf);
  const isShown = COLUMNS.map((_, at) => rows.some((row) => row[at] !== ''));
  const shown = <T>(list: readonly T[]) => list.filter((_, at) => isShown[at]);
  return table(shown(COLUMNS), rows.map(shown), room);
}

function rowOf(field: DestinationField): readonly string[] {
  const { name, label = '', type, maxLength, options = [], writable, required } = field;
  const more = options.length > MAX_OPTIONS ? `, and ${options.length - MAX_OPTIONS} more` : '';
  const notes = [
    ...(writable ? [] : ['not for `fields`']),
    ...(required ? ['required'] : []),
    ...(options.length > 0 ? [`one of ${options.slice(0, MAX_OPTIONS).join(', ')}${more}`] : []),
  ];
  return [name, label, type, maxLength === undefined ? '' : String(maxLength), notes.join('; ')].map(
    printable,
  );
}

function jsonOf({ name, label, type, writable, required, maxLength, options }: DestinationField) {
  return { name, label, type, writable, required, max_length: maxLength, options };
}
