import type { LeadId } from '../../leads/lead.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import type { ShowCommand } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';

/** Returns the failure for a lead that is not in the ledger. */
export function unknownLead(lead: LeadId, source: string | undefined, command: ShowCommand): CommandFailure {
  return new CommandFailure(
    ExitCode.notDone,
    `Lead ${lead}${source ? ` of ${source}` : ''} is not in the ledger: no listing so far contained it.`,
    `${command('status')} shows when the listing was last read.`,
  );
}
