import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../config/contract/config.ts';
import type { LeadKey } from '../../leads/person.ts';
import type { Ledger } from '../../ledger/contract/ledger.ts';
import { disk } from '../../platform/files/files.ts';
import { giveToFolderOwner } from '../../platform/files/folder-owner.ts';
import { DataDirUnusable } from '../opening/open-ledger.ts';
import { toldOfErasures } from './tell-erasure.ts';

/** So many leads are looked up at a time. */
const AT_ONCE = 500;

/**
 * Notes, beside the ledger, which leads are erased: a backup of the ledger that takes its place still has them. On disk when it
 * resolves. @throws DataDirUnusable
 */
export async function noteErased(dataDir: string, leads: readonly LeadKey[]): Promise<void> {
  const noted = await read(dataDir);
  const lines = leads.map(lineOf).filter((line) => !noted.has(line));
  if (lines.length === 0) return;
  await onDisk(dataDir, async () => {
    const file = await open(fileOf(dataDir), 'a', 0o600);
    try {
      if (noted.size === 0) giveToFolderOwner(file.fd, fileOf(dataDir));
      // The first ends a line that a power cut left without its end.
      await file.appendFile(`\n${lines.join('\n')}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await disk.syncFolder(dataDir);
  });
}

/**
 * Erases once more whom an erasure took that this ledger does not know of: it was restored from before. Gives how many leads that
 * were. @throws DataDirUnusable, LedgerError
 */
export async function eraseAgain(ledger: Ledger, { dataDir, sinks }: Config): Promise<number> {
  const noted = [...(await read(dataDir)).values()];
  const leads: LeadKey[] = [];
  for (let at = 0; at < noted.length; at += AT_ONCE) {
    const part = noted.slice(at, at + AT_ONCE);
    const states = await ledger.heldStates('', part);
    leads.push(...part.filter((_, index) => !states[index]?.erased));
  }
  if (leads.length > 0) await ledger.erase({ leads, rejected: [] }, toldOfErasures(sinks));
  return leads.length;
}

function fileOf(dataDir: string): string {
  return join(dataDir, 'erased.jsonl');
}

function lineOf({ source, leadId }: LeadKey): string {
  return JSON.stringify({ source, lead: String(leadId) });
}

/** By their lines. A line that somebody has spoilt stands for nobody. */
async function read(dataDir: string): Promise<Map<string, LeadKey>> {
  const text = await onDisk(dataDir, () => disk.read(fileOf(dataDir)));
  const lines = String(text ?? '').split('\n');
  return new Map(lines.flatMap((line) => keyIn(line)).map((lead) => [lineOf(lead), lead]));
}

function keyIn(line: string): LeadKey[] {
  try {
    const { source, lead } = JSON.parse(line);
    return typeof source === 'string' ? [{ source, leadId: BigInt(lead) }] : [];
  } catch {
    return []; // spoilt: whose it was nobody can tell
  }
}

async function onDisk<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new DataDirUnusable(fileOf(dataDir), error);
  }
}
