import { randomBytes } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { printStamp } from '../../platform/text/format.ts';

/** What the files of one export are called: `nightly-20261122T030000Z.parquet`, a folder without an ending. */

/** The name of what is made at a time. */
export function fileNameOf(name: string, at: Date, ending: string): string {
  return `${name}-${printStamp(at).replace(/\.\d+/, '')}${ending}`;
}

/** Whether it is the name of one of this export, complete. */
export function isOf(name: string, file: string): boolean {
  return timePart(name, file) !== undefined;
}

/** A name beside a path for what is not complete there: not yet, or not any more. */
export function inTheMaking(path: string): string {
  return join(dirname(path), `.${basename(path)}.${randomBytes(8).toString('hex')}.tmp`);
}

/** Whether it is the name of one of this export in the making. */
export function isInTheMaking(name: string, file: string): boolean {
  const [, made] = /^\.(.+)\.[0-9a-f]{16}\.tmp$/.exec(file) ?? [];
  return made !== undefined && isOf(name, made);
}

/** The oldest of these first. */
export function inOrder(files: readonly string[]): readonly string[] {
  return [...files].sort();
}

function timePart(name: string, file: string): string | undefined {
  if (!file.startsWith(`${name}-`)) return undefined;
  return /^\d{8}T\d{6}Z(?=$|\.(?:parquet|csv|jsonl|sqlite)$)/.exec(file.slice(name.length + 1))?.[0];
}
