import { join } from 'node:path';
import { type ExportStates, StoredExportStates } from '../../src/exports/export-states.ts';
import { DocumentFolder } from '../../src/platform/files/document-folder.ts';
import type { Files } from '../../src/platform/files/file-system.ts';

/** Returns the states of exports in a data directory, as leadsync keeps them if the ledger is a file there. */
export function exportStateFiles(files: Files, dataDir: string): ExportStates {
  const folder = join(dataDir, 'exports');
  return new StoredExportStates(new DocumentFolder(files, folder), folder);
}
