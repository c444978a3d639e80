import { chownSync, fchownSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Gives an open file to the owner of its folder, if this process is root's. Without that, the daemon, which runs as that owner, could not
 * open a private file that an administrator's command has made.
 */
export function giveToFolderOwner(file: number, path: string): void {
  const owner = ownerAbove(path);
  if (owner) fchownSync(file, owner.uid, owner.gid);
}

/** Gives a folder to the owner of the one that it is in, if this process is root's. */
export function giveFolderToOwnerAbove(path: string): void {
  const owner = ownerAbove(path);
  if (owner) chownSync(path, owner.uid, owner.gid);
}

function ownerAbove(path: string): { uid: number; gid: number } | undefined {
  if (process.geteuid?.() !== 0) return undefined;
  const { uid, gid } = statSync(dirname(path));
  return uid === 0 ? undefined : { uid, gid };
}
