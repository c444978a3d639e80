import type { Instruments } from './instruments.ts';

/** Results of the runs of an export or a backup, including runs before the last restart. */
export interface ExportRuns {
  /** Start of the last successful run. */
  readonly madeAt: Date | undefined;
  /** When the next run or retry is due; undefined until its state has been read. */
  readonly dueAt: Date | undefined;
  /** Size of the output of the last successful run, in bytes; undefined before the first run. */
  readonly bytes: number | undefined;
  /** Number of failed runs since the last successful run. */
  readonly failures: number;
}

/** What a set of metrics is about. Also the label that contains the name of the export or backup. */
type Kind = 'export' | 'backup';

/** Metrics of scheduled exports, or of scheduled backups. */
export class ExportMetrics {
  readonly #kind: Kind;
  /** Names of the configured exports or backups. */
  names: readonly string[];
  readonly #failures;
  readonly #seconds;
  readonly #rows;

  /** @param runsOf returns the results of an export's runs; called at each scrape */
  constructor(
    make: Instruments,
    kind: Kind,
    names: readonly string[],
    runsOf: (name: string) => Promise<ExportRuns>,
  ) {
    const by = { [kind]: names };
    const one = kind === 'export' ? 'an export' : 'a backup';
    this.#kind = kind;
    this.names = names;
    make.gauge(
      `leadsync_${kind}_last_success_timestamp_seconds`,
      `Start of the last successful run of ${one}; 0 before the first.`,
      by,
      async (gauge) => {
        for (const name of this.names)
          gauge.set({ [kind]: name }, ((await runsOf(name)).madeAt?.getTime() ?? 0) / 1000);
      },
    );
    make.gauge(
      `leadsync_${kind}_due_timestamp_seconds`,
      `When the next run or retry of ${one} is due; in the past if it is late.`,
      by,
      async (gauge) => {
        for (const name of this.names)
          gauge.set({ [kind]: name }, ((await runsOf(name)).dueAt?.getTime() ?? 0) / 1000);
      },
    );
    make.gauge(
      `leadsync_${kind}_failures_in_a_row`,
      `Consecutive failed runs of ${one}.`,
      by,
      async (gauge) => {
        for (const name of this.names) gauge.set({ [kind]: name }, (await runsOf(name)).failures);
      },
    );
    this.#failures = make.counter(`leadsync_${kind}_failures_total`, `Failed runs of ${one}.`, by);
    this.#seconds = make.gauge(
      `leadsync_${kind}_duration_seconds`,
      'Duration of the last successful run. Absent until a run succeeds after leadsync starts.',
      by,
    );
    this.#rows = make.gauge(
      kind === 'export' ? 'leadsync_export_rows' : 'leadsync_backup_leads',
      `Number of ${kind === 'export' ? 'rows' : 'leads'} in the last successful run. Absent until a run succeeds after leadsync starts.`,
      by,
    );
    make.gauge(
      `leadsync_${kind}_bytes`,
      `Size of the output of the last successful run of ${one}; 0 before the first.`,
      by,
      async (gauge) => {
        for (const name of this.names) gauge.set({ [kind]: name }, (await runsOf(name)).bytes ?? 0);
      },
    );
  }

  made(name: string, { rows, durationMs }: { rows: number; durationMs: number }): void {
    this.#seconds.set({ [this.#kind]: name }, durationMs / 1000);
    this.#rows.set({ [this.#kind]: name }, rows);
  }

  failed(name: string): void {
    this.#failures.inc({ [this.#kind]: name });
  }
}
