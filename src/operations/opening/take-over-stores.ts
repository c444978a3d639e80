import { ALERTS } from '../../alerts/stored-alerts.ts';
import type { Config } from '../../config/contract/config.ts';
import { codeOf } from '../../platform/failures/error-code.ts';
import type { DocumentStore } from '../../platform/files/document-store.ts';
import type { Clock, Random } from '../../platform/time/clock.ts';
import { type TakenOver, type TakeOverParts, takeOverTokens } from '../../source/auth/take-over-tokens.ts';
import type { Emit } from '../../telemetry/events.ts';
import { ledgerPlaceOf } from './configured-ledger.ts';
import { fileStores, type InstallationStores } from './installation-stores.ts';

/**
 * Moves the tokens, the states of exports and those of alerts that are in the data directory to where the ledger is, if that is a server: after a change
 * from a ledger in a file, and after a login before the first start. The process must hold the data directory. @throws LedgerError
 */
export async function takeOverStores(
  config: Pick<Config, 'dataDir' | 'ledgerServer' | 'tokenKey'>,
  stores: InstallationStores,
  { clock, random, emit }: { readonly clock: Clock; readonly random: Random; readonly emit: Emit },
): Promise<void> {
  const { file, where } = ledgerPlaceOf(config);
  const { dataDir, tokenKey: key } = config;
  if (file !== undefined || key === undefined) return;
  const files = fileStores(dataDir, { clock, rotates: false });
  const { sources, left } = await moveStores(files, stores, { key, clock, random });
  if (sources.length > 0) emit({ type: 'tokens-taken-over', sources, where });
  if (left.length > 0) emit({ type: 'tokens-left', sources: left, where });
}

/**
 * Moves tokens, the states of exports and those of alerts from one place to another, except what the other place has. Returns the sources whose tokens
 * were moved, and those whose tokens were left. No process may use the first place. @throws the error of a store
 */
export async function moveStores(
  from: InstallationStores,
  to: InstallationStores,
  parts: TakeOverParts,
): Promise<TakenOver> {
  for (const store of [to.tokens, to.exports, to.alerts]) await store.prepare();
  const taken = await takeOverTokens(from.tokens, to.tokens, parts);
  await move(from.exports, to.exports, (name) => name.endsWith('.json'));
  await move(from.alerts, to.alerts, (name) => name === ALERTS);
  return taken;
}

/** Moves documents, except those that the other store has. */
async function move(
  from: DocumentStore,
  to: DocumentStore,
  isMeant: (name: string) => boolean,
): Promise<void> {
  const names = await from.names().catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  });
  for (const name of names.filter(isMeant)) {
    const text = await from.read(name);
    if (text !== undefined && (await to.read(name)) === undefined) await to.write(name, text);
    await from.remove(name);
  }
}
