import { openSink } from '../../operations/opening/open-sinks.ts';
import { reconcile as compare, type Difference, type ReconcileResult } from '../../operations/reconcile.ts';
import { listenForStop } from '../../platform/process/stop-signals.ts';
import { countOf, printCount } from '../../platform/text/human-readable.ts';
import { printable, printJson } from '../../platform/text/printable.ts';
import { SinkUnavailable } from '../../sinks/sink-unavailable.ts';
import { requireSink, sinkNotInLedger } from '../arguments/require-name.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { type ConfirmOptions, confirmAction } from '../shell/confirm.ts';
import { commandFormatter, configOf, withLedger } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';

interface Options extends Pick<ConfirmOptions, 'yes'> {
  readonly sink: string;
  readonly repair?: boolean;
  readonly json?: boolean;
}

/** `leadsync reconcile`: compares the ledger with what a sink holds. */
export const command = defineCommand<Options>({
  examples: [
    'leadsync reconcile --sink warehouse',
    'leadsync reconcile --sink drop --json',
    'leadsync reconcile --sink warehouse --repair',
  ],
  notes:
    'Missing leads were delivered according to the ledger, but the sink does not hold them, or holds an older version.\nForeign leads are in the sink, but this ledger never delivered them, or has erased them since. Duplicates are leads that the sink holds more than once; in files, each row is a delivery, so several rows with one lead are not duplicates. Databases, CRMs, folders and buckets can be compared; webhooks and messages cannot. Exit 0 if no lead is missing, foreign or a duplicate, else 1.',
  declare: (command) =>
    command
      .requiredOption('--sink <name>', 'the sink to compare')
      .option('--repair', 'deliver missing leads again, as replays; asks on a terminal')
      .option('--yes', 'repair without asking')
      .option('--json', 'print the result as JSON'),
  run: async (options, surroundings) => {
    const config = configOf(options, surroundings);
    const { sinks } = config;
    requireSink(options.sink, config);
    const configured = sinks.find(({ name }) => name === options.sink) as (typeof sinks)[number];
    const { clock, stdout } = surroundings;
    const sink = await openSink(configured, clock);
    const stop = listenForStop(() => process.exit(ExitCode.notDone));
    try {
      const held = sink.storedLeads?.(stop.signal);
      if (!held) throw cannotTell(options.sink, configured.type.type);
      return await withLedger(config, surroundings, async (ledger) => {
        if (!(await ledger.status()).sinks.some((one) => one.sink === options.sink))
          throw sinkNotInLedger(options.sink, commandFormatter(options, surroundings));
        const all: Difference[] = [];
        const onDifference = (difference: Difference) =>
          options.json ? all.push(difference) : stdout.write(line(difference));
        const repair = options.repair === true;
        const confirmRepair = (leads: number) =>
          confirmAction(
            { effect: effectOf(leads, options.sink), scriptsNeedYes: false },
            options,
            surroundings,
          );
        const parts = { sink: options.sink, ledger, clock, repair, confirmRepair, onDifference };
        const found = await compare(held, parts);
        stdout.write(
          options.json ? printJson(asJson(options.sink, found, all)) : summary(options.sink, found),
        );
        return found.missing + found.foreign + found.duplicates === 0 ? ExitCode.done : ExitCode.notDone;
      });
    } catch (error) {
      if (stop.signal.aborted)
        throw new CommandFailure(ExitCode.notDone, 'The comparison was stopped before it was complete.');
      throw error instanceof SinkUnavailable ? unavailable(options.sink, error) : error;
    } finally {
      stop.release();
      await sink.close();
    }
  },
});

function effectOf(leads: number, sink: string): string {
  return `This delivers ${countOf(leads, 'missing lead')} to ${printable(sink)} again`;
}

function cannotTell(sink: string, type: string): CommandFailure {
  return new CommandFailure(
    ExitCode.usage,
    `${printable(sink)} is a ${type} sink, whose content leadsync cannot read.`,
    'The receiver can identify each delivery by its id; `leadsync deliveries` shows what was delivered.',
  );
}

function unavailable(sink: string, { message, hint }: SinkUnavailable): CommandFailure {
  return new CommandFailure(
    ExitCode.unreachable,
    `Sink ${printable(sink)} could not be read: ${printable(message)}`,
    hint,
  );
}

function line({ kind, source, leadId, why, file, owed }: Difference): string {
  const where = file === undefined ? '' : ` (${printable(file)})`;
  return `${kind}  ${printable(source)} ${leadId}: ${why}${where}${kind === 'missing' && owed ? ' It will be delivered again.' : ''}\n`;
}

function summary(sink: string, { delivered, held, missing, foreign, duplicates }: ReconcileResult): string {
  const twice = duplicates === 0 ? '' : `, ${countOf(duplicates, 'duplicate')}`;
  return `${printable(sink)}: ${countOf(delivered, 'lead')} delivered, ${printCount(held)} held, ${printCount(missing)} missing, ${printCount(foreign)} foreign${twice}.\n`;
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
    duplicates: of('duplicate').map(({ source, leadId }) => ({ source, id: String(leadId) })),
  };
}
