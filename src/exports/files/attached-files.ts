import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { AttachedFile } from '../../ledger/database/backup-contents.ts';
import { codeOf } from '../../platform/failures/error-code.ts';

/** Name of the file in a backup that describes the backup. */
const MANIFEST = 'backup.json';

const manifest = z.object({
  version: z.literal(1),
  made_at: z.coerce.date(),
  leadsync: z.string(),
});

/** The description of a backup: when it was made, and by which version of leadsync. */
export interface BackupManifest {
  readonly madeAt: Date;
  readonly leadsync: string;
}

/** Returns the manifest as the file that a backup carries. */
export function manifestFile({ madeAt, leadsync }: BackupManifest): AttachedFile {
  const text = JSON.stringify({ version: 1, made_at: madeAt, leadsync });
  return { path: MANIFEST, content: Buffer.from(text) };
}

/** Returns the manifest of a backup; undefined if it has none, or one of another version. */
export function readManifest(files: readonly AttachedFile[]): BackupManifest | undefined {
  const file = files.find(({ path }) => path === MANIFEST);
  if (file === undefined) return undefined;
  try {
    const { made_at: madeAt, leadsync } = manifest.parse(JSON.parse(file.content.toString('utf8')));
    return { madeAt, leadsync };
  } catch {
    return undefined;
  }
}

/** Paths of the files in the data directory that belong in a backup. */
const CARRIED: readonly RegExp[] = [
  /^(?:erased\.jsonl|alerts\.json|audit\.jsonl)$/,
  /^exports\/[^./][^/]*\.json$/,
  /^tokens\/[^./][^/]*\.(?:json|login)$/,
];

/** Whether a backup may carry a file with this path. In an untrusted backup, a path could point outside the data directory. */
export function isCarried(path: string): boolean {
  return CARRIED.some((form) => form.test(path));
}

/**
 * Returns the files of a data directory that a backup carries beside the ledger. Omits tokens that are not encrypted, because a backup is
 * copied to more places than the data directory. Includes the records that a person has logged in, which are not secret. @throws the error
 * from Node
 */
export function carriedFiles(dataDir: string): readonly AttachedFile[] {
  return ['', 'exports', 'tokens']
    .flatMap((folder) => namesIn(join(dataDir, folder)).map((name) => (folder ? `${folder}/${name}` : name)))
    .filter(isCarried)
    .flatMap((path) => read(dataDir, path) ?? [])
    .filter(({ path, content }) => !isToken(path) || isSealed(content));
}

function read(dataDir: string, path: string): AttachedFile | undefined {
  try {
    return { path, content: readFileSync(join(dataDir, path)) };
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'EISDIR') return undefined; // removed in the meantime, or a folder of that name
    throw error;
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return [];
    throw error;
  }
}

function isToken(path: string): boolean {
  return path.startsWith('tokens/') && path.endsWith('.json');
}

/** Whether a token file is encrypted. An encrypted file names its cipher and contains no access token in plain text. */
function isSealed(content: Buffer): boolean {
  try {
    const text: unknown = JSON.parse(content.toString('utf8'));
    return typeof text === 'object' && text !== null && 'cipher' in text && !('access_token' in text);
  } catch {
    return false;
  }
}
