import { fileNameOf, inOrder } from './export-name.ts';
import { BACKUP_ENDING } from './format-names.ts';
import { type ExportConfig, isBackup } from './options.ts';

/**
 * Returns the files that exceed `keep` once `made` is written, oldest first. Counts only backups for a backup, and only exports for an export,
 * because both may have used the same name in the same folder. A file whose name sorts after `made` was written while the clock was ahead, so it
 * counts as older than all others. `files` are sorted by name.
 */
export function beyondKeep(
  config: Pick<ExportConfig, 'keep' | 'format'>,
  files: readonly string[],
  made: string,
): readonly string[] {
  const { keep } = config;
  if (keep === undefined) return [];
  const isOwn = (file: string) => file.endsWith(BACKUP_ENDING) === isBackup(config);
  const all = files.filter(isOwn);
  const ahead = all.filter((file) => file <= made).length;
  return [...all.slice(ahead), ...all.slice(0, ahead)].slice(0, -keep);
}

/** Returns the present files of an export or backup that a run at `now` would remove because of `keep`. `files` are sorted by name. */
export function removedByRun(config: ExportConfig, files: readonly string[], now: Date): readonly string[] {
  const made = fileNameOf(config.name, now, isBackup(config) ? BACKUP_ENDING : '');
  return beyondKeep(config, inOrder([...files, made]), made);
}
