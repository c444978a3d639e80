import type { EventOf } from './events.ts';
import type { Instruments } from './instruments.ts';

/** What is remembered of an export's runs, over restarts. */
export interface ExportRuns {
  /** When the last that was made began. */
  readonly madeAt: Date | undefined;
  /** How many have failed since. */
  readonly failures: number;
}

/** What is measured of scheduled exports. */
export class ExportMetrics {
  /** The exports there are. */
  names: readonly string[];
  readonly #failures;
  readonly #seconds;
  readonly #rows;
  readonly #bytes;

  /** `runsOf` is asked whenever the metrics are shown. */
  constructor(make: Instruments, exports: readonly string[], runsOf: (name: string) => ExportRuns) {
    const by = { export: exports };
    this.names = exports;
    make.gauge(
      'leadsync_export_last_success_timestamp_seconds',
      'When the last export that was made began; 0 before the first.',
      by,
      (gauge) => {
        for (const name of this.names)
          gauge.set({ export: name }, (runsOf(name).madeAt?.getTime() ?? 0) / 1000);
      },
    );
    make.gauge(
      'leadsync_export_failures_in_a_row',
      'Runs of an export that have failed since the last that was made.',
      by,
      (gauge) => {
        for (const name of this.names) gauge.set({ export: name }, runsOf(name).failures);
      },
    );
    this.#failures = make.counter('leadsync_export_failures_total', 'Runs of an export that failed.', by);
    this.#seconds = make.gauge(
      'leadsync_export_duration_seconds',
      'How long the last export took since the start of leadsync.',
      by,
    );
    this.#rows = make.gauge(
      'leadsync_export_rows',
      'Rows in the last export since the start of leadsync.',
      by,
    );
    this.#bytes = make.gauge(
      'leadsync_export_bytes',
      'Size of the last export since the start of leadsync.',
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
