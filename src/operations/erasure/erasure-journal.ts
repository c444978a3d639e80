import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../config/contract/config.ts';
import type { LeadKey } from '../../leads/person.ts';
import type { Ledger } from '../../ledger/contract/ledger.ts';
import { disk } from '../../platform/files/file-system.ts';
import { giveToFolderOwner } from '../../platform/files/folder-owner.ts';
import { DataDirUnusable } from '../opening/open-ledger.ts';
import { sinksWithErasedEvents } from './erasure-report.ts';

/** The name of the journal in a data directory. */
export const ERASURES = 'erased.jsonl';

/** Maximum number of leads per query. */
const CHUNK = 500;

/**
 * Appends erased leads to a journal beside the ledger, because a backup from before the erasure still contains them. Resolves when the
 * lines are on disk. @throws DataDirUnusable
 */
export async function recordErasures(dataDir: string, leads: readonly LeadKey[]): Promise<void> {
  const recorded = await read(dataDir);
  const lines = leads.map(lineOf).filter((line) => !recorded.has(line));
  if (lines.length === 0) return;
  await onDisk(dataDir, async () => {
    const file = await open(fileOf(dataDir), 'a', 0o600);
    try {
      if (recorded.size === 0) giveToFolderOwner(file.fd, fileOf(dataDir));
      // The leading newline ends a line that a power failure truncated.
      await file.appendFile(`\n${lines.join('\n')}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await disk.syncFolder(dataDir);
  });
}

/**
 * Erases the leads in the journal that are not erased in this ledger, for example because the ledger was restored from a backup. Returns
 * the number of these leads.
 * @throws DataDirUnusable, LedgerError
 */
export async function reapplyErasures(ledger: Ledger, { dataDir, sinks }: Config): Promise<number> {
  const recorded = [...(await read(dataDir)).values()];
  const leads: LeadKey[] = [];
  for (let at = 0; at < recorded.length; at += CHUNK) {
    const part = recorded.slice(at, at + CHUNK);
    const states = await ledger.leadsAtSink('', part);
    leads.push(...part.filter((_, index) => !states[index]?.erased));
  }
  if (leads.length > 0) await ledger.erase({ leads, rejected: [] }, sinksWithErasedEvents(sinks));
  return leads.length;
}

/**
 * Adds the erasures that the ledger knows to the journal, because another machine may have made them. A restored ledger does not know them, but
 * then each machine does. @throws DataDirUnusable, LedgerError
 */
export async function noteErasures(ledger: Pick<Ledger, 'erasedLeads'>, dataDir: string): Promise<void> {
  await recordErasures(dataDir, await ledger.erasedLeads());
}

/** Adds the erasures of another journal, such as that of a backup, to the journal of a data directory. @throws DataDirUnusable */
export async function mergeErasures(dataDir: string, other: Buffer | undefined): Promise<void> {
  await recordErasures(dataDir, [...leadsIn(String(other ?? '')).values()]);
}

function fileOf(dataDir: string): string {
  return join(dataDir, ERASURES);
}

function lineOf({ source, leadId }: LeadKey): string {
  return JSON.stringify({ source, lead: String(leadId) });
}

/** Returns the leads in the journal, with their lines as keys. Ignores lines that cannot be parsed. */
async function read(dataDir: string): Promise<Map<string, LeadKey>> {
  const text = await onDisk(dataDir, () => disk.read(fileOf(dataDir)));
  return leadsIn(String(text ?? ''));
}

function leadsIn(text: string): Map<string, LeadKey> {
  const keys = text.split('\n').flatMap((line) => keyIn(line));
  return new Map(keys.map((lead) => [lineOf(lead), lead]));
}

function keyIn(line: string): LeadKey[] {
  try {
    const { source, lead } = JSON.parse(line);
    return typeof source === 'string' ? [{ source, leadId: BigInt(lead) }] : [];
  } catch {
    return [];
  }
}

async function onDisk<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new DataDirUnusable(fileOf(dataDir), error);
  }
}
