import { existsSync } from 'node:fs';
import { auditFile } from '../../audit/audit-files.ts';
import { AuditLog } from '../../audit/audit-log.ts';
import type { AuditFields } from '../../audit/audit-store.ts';
import type { LedgerConfig } from '../../config/contract/config.ts';
import { ledgerPlaceOf } from '../../operations/opening/configured-ledger.ts';
import { isDataDirInUse } from '../../operations/opening/open-ledger.ts';
import { codeOf } from '../../platform/failures/error-code.ts';
import { makeFolderSync } from '../../platform/files/file-system.ts';
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
 * Records an action in the audit log before it happens, with the person who runs the command. Returns false if the data directory has
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
  if (!existsSync(auditFile(dataDir)) && (await ledgerPlaceOf(config).isMissing())) return false;
  const [who, user] = [personOf(caller), systemUser()];
  // A running daemon has the file open and rotates it.
  const log = new AuditLog(
    dataDir,
    caller.clock,
    isDataDirInUse(dataDir) ? Number.POSITIVE_INFINITY : undefined,
  );
  try {
    makeFolderSync(dataDir, 0o700); // missing if only other machines have worked with a ledger on a server
    await log.write({ who, via: 'cli', ...(user !== who && { user }), what, ...details });
    return true;
  } catch (error) {
    throw new CommandFailure(
      ExitCode.notDone,
      `Nothing was done, because the audit log cannot be written (${codeOf(error) ?? 'unknown error'}).`,
      `Check that ${dataDir} has free space and that this user may write ${auditFile(dataDir)}.`,
    );
  } finally {
    await log.close();
  }
}
