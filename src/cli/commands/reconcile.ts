import { openSink } from '../../operations/opening/open-sinks.ts';
import { reconcile as compare, type Difference, type ReconcileResult } from '../../operations/reconcile.ts';
import { listenForStop } from '../../platform/process/stop-signals.ts';
import { countOf, printCount } from '../../platform/text/format.ts';
import { printable, printJson } from '../../platform/text/printable.ts';
import { SinkUnavailable } from '../../sinks/sink.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { commandShown, configOf, withLedger } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { notStartedYet, requireName } from '../shell/names.ts';

interface Options {
  readonly sink: string;
  readonly repair?: boolean;
  readonly json?: boolean;
}

/** `leadsync reconcile`: compares the ledger with what a sink really holds. */
export const command = defineCommand<Options>({
  examples: [
    'leadsync reconcile --sink warehouse',
    'leadsync reconcile --sink drop --json',
    'leadsync reconcile --sink warehouse --repair',
  ],
  notes:
    'Missing is what the ledger says was delivered and the sink does not hold, or holds in an older version. Foreign is what it holds and this ledger never delivered, or erased since. Databases and folders can tell what they hold; a webhook cannot. Exit 0 when nothing is missing or foreign, else 1.',
  declare: (command) =>
    command
      .requiredOption('--sink <name>', 'the sink to look into')
      .option('--repair', 'owe what is missing once more, as replays')
      .option('--json', 'print the result as JSON'),
  run: async (options, surroundings) => {
    const config = configOf(options, surroundings);
    const { sinks } = config;
    requireName(
      'sink',
      options.sink,
      sinks.map(({ name }) => name),
    );
    const configured = sinks.find(({ name }) => name === options.sink) as (typeof sinks)[number];
    const { clock, stdout } = surroundings;
    const sink = openSink(configured, clock);
    const stop = listenForStop(() => process.exit(ExitCode.notDone));
    try {
      const held = sink.storedLeads?.(stop.signal);
      if (!held) throw cannotTell(options.sink, configured.type.type);
      return await withLedger(config, surroundings, async (ledger) => {
        if (!(await ledger.status()).sinks.some((one) => one.sink === options.sink))
          throw notStartedYet(options.sink, commandShown(options, surroundings));
        const all: Difference[] = [];
        const onDifference = (difference: Difference) =>
          options.json ? all.push(difference) : stdout.write(line(difference));
        const repair = options.repair === true;
        const found = await compare(held, { sink: options.sink, ledger, clock, repair, onDifference });
        stdout.write(
          options.json ? printJson(asJson(options.sink, found, all)) : summary(options.sink, found),
        );
        return found.missing + found.foreign === 0 ? ExitCode.done : ExitCode.notDone;
      });
    } catch (error) {
      if (stop.signal.aborted) throw new CommandFailure(ExitCode.notDone, 'Stopped before all was compared.');
      throw error instanceof SinkUnavailable ? unavailable(options.sink, error) : error;
    } finally {
      stop.release();
      await sink.close();
    }
  },
});

function cannotTell(sink: string, type: string): CommandFailure {
  return new CommandFailure(
    ExitCode.usage,
    `${printable(sink)} is a ${type}, which cannot be asked what it holds.`,
    'Its receiver knows each delivery by its id; `leadsync deliveries` shows what was delivered.',
  );
}

function unavailable(sink: string, { message, hint }: SinkUnavailable): CommandFailure {
  return new CommandFailure(
    ExitCode.unreachable,
    `Sink ${printable(sink)} could not be asked: ${printable(message)}`,
    hint,
  );
}

function line({ kind, source, leadId, why, file, owed }: Difference): string {
  const where = file === undefined ? '' : ` (${printable(file)})`;
  return `${kind}  ${printable(source)} ${leadId}: ${why}${where}${kind === 'missing' && owed ? ' It is owed again.' : ''}\n`;
}

function summary(sink: string, { delivered, held, missing, foreign }: ReconcileResult): string {
  return `${printable(sink)}: ${countOf(delivered, 'lead')} delivered, ${printCount(held)} held, ${printCount(missing)} missing, ${printCount(foreign)} foreign.\n`;
}

function asJson(sink: string, { delivered, held }: ReconcileResult, all: readonly Difference[]) {
  const of = (wanted: Difference['kind']) => all.filter(({ kind }) => kind === wanted);
  return {
    sink,
    delivered,
    held,
    missing: of('missing').map(({ source, leadId, owed }) => ({ source, id: String(leadId), owed })),
    foreign: of('foreign').map(({ source, leadId, why, file }) => ({
      source,
      id: String(leadId),
      why,
      file: file ?? null,
    })),
  };
}
