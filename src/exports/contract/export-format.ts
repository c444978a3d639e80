/** The file formats: one file for each table, or one SQLite file with all tables. */
export const EXPORT_FORMATS = ['parquet', 'csv', 'jsonl', 'sqlite'] as const;
/** A value of `format` of a configured export, or of `--format` of `leadsync export`. */
export type ExportFormat = (typeof EXPORT_FORMATS)[number];
