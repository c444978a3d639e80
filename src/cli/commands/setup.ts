import { withMissingParts } from '../../operations/prepare-sink.ts';
import { listenForStop } from '../../platform/process/stop-signals.ts';
import { printable, printableLines, printJson } from '../../platform/text/printable.ts';
import type { MissingPart } from '../../sinks/destination-parts.ts';
import { SinkUnavailable } from '../../sinks/sink-unavailable.ts';
import { requireSink } from '../arguments/require-name.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { commandFormatter, configOf } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { recordAction } from '../shell/record-action.ts';

interface Options {
  readonly yes?: boolean;
  readonly print?: boolean;
  readonly json?: boolean;
}

/** `leadsync setup SINK`: shows what a destination lacks for the leads of a sink, and creates it with --yes. */
export const command = defineCommand<Options>({
  examples: [
    'leadsync setup warehouse',
    'leadsync setup warehouse --yes',
    'leadsync setup warehouse --print > setup.sql',
  ],
  notes:
    'Changes nothing without --yes, and may be run any number of times. With --print, prints what an administrator has to run instead, and nothing else. Exit 0 if nothing is missing or everything was made or shown, else 69.',
  declare: (command) =>
    command
      .option('--yes', 'create what is missing')
      .option('--print', 'print how an administrator can create it without leadsync')
      .option('--json', 'print what is missing as JSON'),
  run: async (options, surroundings, [name = '']) => {
    if (options.yes && options.print)
      throw new CommandFailure(
        ExitCode.usage,
        '--yes and --print exclude each other.',
        'Choose one of them.',
      );
    const config = configOf(options, surroundings);
    const { clock, stdout } = surroundings;
    requireSink(name, config);
    const stop = listenForStop(() => process.exit(ExitCode.notDone));
    const command = commandFormatter(options, surroundings);
    const write = (line: string) => options.json || stdout.write(`${line}\n`);
    const made: MissingPart[] = [];
    let isMaking = false;
    const missing = await withMissingParts(config, name, { clock, signal: stop.signal }, async (parts) => {
      isMaking = options.yes === true;
      if (isMaking && parts?.length) await recordAction(config, surroundings, 'setup', { sink: name });
      if (isMaking)
        for (const part of parts ?? []) {
          await part.make(stop.signal);
          made.push(part);
          write(`made    ${printable(part.what)}`);
        }
      return parts;
    })
      .catch((error) => {
        if (!(error instanceof SinkUnavailable)) throw error;
        const { message, hint, answer } = error;
        const instead = `Or let an administrator run what ${command(`setup ${name} --print`)} prints.`;
        throw new CommandFailure(
          ExitCode.unreachable,
          `sink ${printable(name)}: ${printable(message)}`,
          isMaking
            ? [
                ...(answer === undefined ? [] : [`The answer: ${printable(answer)}`]),
                printable(`${hint} ${instead}`),
              ].join('\n')
            : printable(hint),
        );
      })
      .finally(() => stop.release());
    if (options.json) stdout.write(printJson(resultOf(name, missing ?? [], made)));
    else if (options.print) for (const { how } of missing ?? []) stdout.write(printableLines(how));
    else if (missing === undefined)
      write(`sink ${printable(name)}: a sink of this type needs no preparation.`);
    else if (missing.length === 0) write(`sink ${printable(name)}: nothing is missing.`);
    else if (!options.yes) {
      for (const { what } of missing) write(`missing ${printable(what)}`);
      write(
        `Nothing was changed. ${command(`setup ${name} --yes`)} creates what is missing; ${command(`setup ${name} --print`)} prints what an administrator has to run instead.`,
      );
    }
    return ExitCode.done;
  },
});

function resultOf(sink: string, missing: readonly MissingPart[], made: readonly MissingPart[]) {
  return {
    sink,
    parts: missing.map((part) => ({ what: part.what, how: part.how, made: made.includes(part) })),
  };
}
