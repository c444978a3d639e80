/** The file formats: one file for each table, or one SQLite file with all tables. */
export const EXPORT_FORMATS = ['parquet', 'csv', 'jsonl', 'sqlite'] as const;
/** Value of the option `format` of a configured export, or of `leadsync export --format`. */
export type ExportFormat = (typeof EXPORT_FORMATS)[number];
/** The format of a backup: a copy of the ledger with the other files of the data directory, compressed with gzip. */
export const BACKUP = 'backup';
/** The ending of a backup's file name. */
export const BACKUP_ENDING = '.db.gz';
