import type { EventOf } from './events.ts';
import type { Instruments } from './instruments.ts';

/** Results of an export's runs, including runs before the last restart. */
export interface ExportRuns {
  /** Start of the last successful run. */
  readonly madeAt: Date | undefined;
  /** Number of failed runs since the last successful run. */
  readonly failures: number;
}

/** Metrics of scheduled exports. */
export class ExportMetrics {
  /** Names of the exports in force. */
  names: readonly string[];
  readonly #failures;
  readonly #seconds;
  readonly #rows;
  readonly #bytes;

  /** @param runsOf returns the results of an export's runs; called at each scrape */
  constructor(make: Instruments, exports: readonly string[], runsOf: (name: string) => ExportRuns) {
    const by = { export: exports };
    this.names = exports;
    make.gauge(
      'leadsync_export_last_success_timestamp_seconds',
      'Start of the last successful run of an export; 0 before the first.',
      by,
      (gauge) => {
        for (const name of this.names)
          gauge.set({ export: name }, (runsOf(name).madeAt?.getTime() ?? 0) / 1000);
      },
    );
    make.gauge('leadsync_export_failures_in_a_row', 'Consecutive failed runs of an export.', by, (gauge) => {
      for (const name of this.names) gauge.set({ export: name }, runsOf(name).failures);
    });
    this.#failures = make.counter('leadsync_export_failures_total', 'Failed runs of an export.', by);
    this.#seconds = make.gauge(
      'leadsync_export_duration_seconds',
      'Duration of the last successful run since the start of leadsync.',
      by,
    );
    this.#rows = make.gauge(
      'leadsync_export_rows',
      'Rows of the last successful run since the start of leadsync.',
      by,
    );
    this.#bytes = make.gauge(
      'leadsync_export_bytes',
      'Size of the last successful run since the start of leadsync.',
      by,
    );
  }

  made({ export: name, rows, bytes, durationMs }: EventOf<'export-made'>): void {
    this.#seconds.set({ export: name }, durationMs / 1000);
    this.#rows.set({ export: name }, rows);
    this.#bytes.set({ export: name }, bytes);
  }

  failed(name: string): void {
    this.#failures.inc({ export: name });
  }
}
