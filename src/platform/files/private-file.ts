import { closeSync, openSync } from 'node:fs';
import { codeOf } from '../failures/error-code.ts';
import { giveToFolderOwner } from './folder-owner.ts';

const PRIVATE_MODE = 0o600;

/**
 * Creates an empty file that only its owner may read: the owner of its folder if this process runs as root, otherwise this user. If the
 * file exists, returns false without opening it.
 */
export function makePrivateFile(path: string): boolean {
  try {
    const file = openSync(path, 'wx', PRIVATE_MODE);
    try {
      giveToFolderOwner(file, path);
    } finally {
      closeSync(file);
    }
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}
