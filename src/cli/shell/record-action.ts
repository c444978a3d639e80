import { existsSync } from 'node:fs';
import { auditFile } from '../../audit/audit-files.ts';
import type { AuditFields } from '../../audit/audit-store.ts';
import type { LedgerConfig } from '../../config/contract/config.ts';
import { ledgerPlaceOf } from '../../operations/opening/configured-ledger.ts';
import { withStores } from '../../operations/opening/with-stores.ts';
import { codeOf } from '../../platform/failures/error-code.ts';
import { systemUser } from '../../platform/process/system-user.ts';
import type { Clock } from '../../platform/time/clock.ts';
import { CommandFailure } from './command-failure.ts';
import { ExitCode } from './exit-code.ts';

/** The part of a command's surroundings that says who runs it, and when. */
interface Caller {
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Returns the person who runs the command: the user who called sudo, or else the user of this process. A caller can set `SUDO_USER` to any
 * name, so the audit log also records the user of the process.
 */
export function personOf({ env }: Pick<Caller, 'env'>): string {
  return env['SUDO_USER'] || systemUser();
}

/**
 * Records an action in the audit log before it happens, with the person who runs the command. Returns false if there is
 * neither a ledger nor an audit log: an audit log alone would make the first start take the installation for one that has lost its ledger.
 * @throws CommandFailure if the audit log cannot be written; the caller must then not act
 */
export async function recordAction(
  config: Pick<LedgerConfig, 'dataDir' | 'ledgerServer'>,
  caller: Caller,
  what: string,
  details: AuditFields = {},
): Promise<boolean> {
  const { dataDir } = config;
  const place = ledgerPlaceOf(config);
  const hasLog = place.file !== undefined && existsSync(auditFile(dataDir));
  const [who, user] = [personOf(caller), systemUser()];
  const fileHint = `Check that ${dataDir} has free space and that this user may write ${auditFile(dataDir)}.`;
  if (!hasLog && (await place.isMissing())) return false;
  return withStores(config, caller, async ({ audit }) => {
    try {
      await audit.write({ who, via: 'cli', ...(user !== who && { user }), what, ...details });
      return true;
    } catch (error) {
      throw new CommandFailure(
        ExitCode.notDone,
        `Nothing was done, because the audit log cannot be written (${codeOf(error) ?? 'unknown error'}).`,
        place.file === undefined ? audit.hint : fileHint,
      );
    }
  });
}
