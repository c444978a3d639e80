import { chownSync, fchownSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * If this process runs as root, changes the owner of an open file to the owner of its folder. Without this change, the daemon, which runs
 * as that owner, could not open a private file that an administrator's command has created.
 */
export function giveToFolderOwner(file: number, path: string): void {
  const owner = ownerAbove(path);
  if (owner) fchownSync(file, owner.uid, owner.gid);
}

/** If this process runs as root, changes the owner of a folder to the owner of its parent. */
export function giveToParentOwner(path: string): void {
  const owner = ownerAbove(path);
  if (owner) chownSync(path, owner.uid, owner.gid);
}

function ownerAbove(path: string): { uid: number; gid: number } | undefined {
  if (process.geteuid?.() !== 0) return undefined;
  const { uid, gid } = statSync(dirname(path));
  return uid === 0 ? undefined : { uid, gid };
}
