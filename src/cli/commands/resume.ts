import type { SinkStatus } from '../../ledger/contract/status-rows.ts';
import { countOf } from '../../platform/text/human-readable.ts';
import { requireSink, sinkNotInLedger } from '../arguments/require-name.ts';
import { defineCommand } from '../shell/command.ts';
import { commandFormatter, ledgerConfigOf, withLedger } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';

/** `leadsync resume SINK`: ends a pause, or makes the next probe of a held sink due now. */
export const command = defineCommand({
  examples: ['leadsync resume crm'],
  run: async (options, surroundings, [sink = '']) => {
    const config = ledgerConfigOf(options, surroundings);
    const before = await withLedger(config, surroundings, async (ledger) => {
      const status = await ledger.status();
      requireSink(sink, config, status);
      if (!(await ledger.resume(sink))) throw sinkNotInLedger(sink, commandFormatter(options, surroundings));
      return status.sinks.find((known) => known.sink === sink);
    });
    surroundings.stderr.write(`${whatChanged(sink, before)}\n`);
    return ExitCode.done;
  },
});

function whatChanged(sink: string, before: SinkStatus | undefined): string {
  const waiting = before?.pending
    ? `${countOf(before.pending, 'lead')} can be delivered now`
    : 'no leads are pending';
  const { pausedSince, heldSince } = before?.health ?? {};
  if (heldSince)
    return `${sink} is ${pausedSince ? 'resumed and still ' : ''}held: ${probing(before?.pending ?? 0)}`;
  if (pausedSince) return `${sink} is resumed: ${waiting}.`;
  return `${sink} was neither paused nor held.`;
}

function probing(pending: number): string {
  if (pending === 0) return 'no leads are pending, so the next lead is the probe.';
  const rest = pending > 1 ? ' Other leads wait for its result.' : '';
  return `its next probe, a single batch, is due now.${rest}`;
}
