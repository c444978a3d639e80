/** How tables are written: each as a file, or all of them as tables of one SQLite file. */
export const EXPORT_FORMATS = ['parquet', 'csv', 'jsonl', 'sqlite'] as const;
/** What `format` of a configured export takes, and `--format` of `leadsync export`. */
export type ExportFormat = (typeof EXPORT_FORMATS)[number];
