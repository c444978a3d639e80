import type { Instruments } from './instruments.ts';

/** Sizes on the data directory's disk, in bytes. An unknown size is undefined. */
export interface DiskSizes {
  readonly freeBytes: number | undefined;
  /** The ledger and its write-ahead log. */
  readonly ledgerBytes: number | undefined;
}

/** Adds the metrics about the data directory's disk. Calls `read` at each scrape. */
export function addDiskMetrics(make: Instruments, read: () => Promise<DiskSizes>): void {
  const free = make.unknownGauge(
    'leadsync_disk_free_bytes',
    'Free space on the disk of the data directory; NaN if the file system does not state it.',
    {},
    async () => free.set((await read()).freeBytes ?? Number.NaN),
  );
  const ledger = make.unknownGauge(
    'leadsync_ledger_bytes',
    'Size of the ledger with its write-ahead log.',
    {},
    async () => ledger.set((await read()).ledgerBytes ?? Number.NaN),
  );
}
