import { chownSync, fchownSync, lchownSync, lstatSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * If this process runs as root, changes the owner of an open file to the owner of its folder. Without this change, the daemon, which runs
 * as that owner, could not open a private file that an administrator's command has created.
 */
export function giveToFolderOwner(file: number, path: string): void {
  const owner = ownerAbove(path);
  if (owner) fchownSync(file, owner.uid, owner.gid);
}

/** Like `giveToParentOwner`, for a folder with everything in it, or for a file. */
export function giveAllToParentOwner(path: string): void {
  const owner = ownerAbove(path);
  if (owner) giveAll(path, owner);
}

function giveAll(path: string, owner: Owner): void {
  lchownSync(path, owner.uid, owner.gid);
  if (!lstatSync(path).isDirectory()) return;
  for (const name of readdirSync(path)) giveAll(join(path, name), owner);
}

/** If this process runs as root, changes the owner of a folder to the owner of its parent. */
export function giveToParentOwner(path: string): void {
  const owner = ownerAbove(path);
  if (owner) chownSync(path, owner.uid, owner.gid);
}

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

function ownerAbove(path: string): Owner | undefined {
  if (process.geteuid?.() !== 0) return undefined;
  const { uid, gid } = statSync(dirname(path));
  return uid === 0 ? undefined : { uid, gid };
}
