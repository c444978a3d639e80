import type { LeadId } from '../../leads/lead.ts';
import { CommandFailure } from './command-failure.ts';
import type { ShowCommand } from './context.ts';
import { ExitCode } from './exit-code.ts';

/** A lead that was asked for, and that no listing had. */
export function unknownLead(lead: LeadId, source: string | undefined, command: ShowCommand): CommandFailure {
  return new CommandFailure(
    ExitCode.notDone,
    `Lead ${lead}${source ? ` of ${source}` : ''} is not in the ledger: no listing that was read so far had it.`,
    `${command('status')} says when the listing was last read.`,
  );
}
