import type { Overview } from '../../../src/admin/contract/overview.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** One export in each state that there is, and one that has found nothing new. */
export function anExportOfEach(before: (ms: number) => string): Overview['exports'] {
  const made = {
    type: 'directory',
    every_seconds: null,
    at: null,
    timezone: null,
    state: 'made',
    failures: 0,
    last_error: null,
  } as const;
  const unmade = { ...made, last_success_at: null, place: null, rows: null, bytes: null } as const;
  return [
    {
      ...made,
      export: 'nightly',
      target: '/srv/leads/exports',
      at: '03:00',
      timezone: 'Australia/Brisbane',
      last_success_at: before(21.5 * HOUR),
      place: '/srv/leads/exports/nightly-20261120T170000Z.parquet',
      rows: 48_214,
      bytes: 21_440_312,
      next_at: before(-2.5 * HOUR),
    },
    {
      ...made,
      export: 'lake',
      type: 's3',
      target: 's3://acme-leads/leadsync/',
      every_seconds: 3_600,
      state: 'failed',
      last_success_at: before(3.5 * HOUR),
      place: 's3://acme-leads/leadsync/lake-20261121T110000Z.parquet',
      rows: 61,
      bytes: 40_112,
      next_at: before(-4 * MINUTE),
      failures: 3,
      last_error: 'The storage does not answer (ECONNREFUSED).',
    },
    {
      ...made,
      export: 'changes',
      target: '/srv/leads/changes',
      every_seconds: 900,
      last_success_at: before(11 * MINUTE),
      place: '/srv/leads/changes/changes-20261121T142100Z.csv',
      rows: 0,
      bytes: 312,
      next_at: before(-4 * MINUTE),
    },
    {
      ...unmade,
      export: 'archive',
      target: '/mnt/archive',
      every_seconds: 604_800,
      state: 'running',
      next_at: before(2_000),
    },
    {
      ...unmade,
      export: 'weekly-of-everything-for-the-auditors',
      target: '/mnt/auditors/a-folder-with-a-long-name/and-another-one-below-it',
      at: '23:30',
      timezone: 'UTC',
      state: 'new',
      next_at: before(-9 * HOUR),
    },
  ];
}

/** One backup that was made, and one that fails. */
export function aBackupOfEach(before: (ms: number) => string): Overview['backups'] {
  return anExportOfEach(before)
    .slice(0, 2)
    .map(({ export: name, rows, ...one }) => ({
      ...one,
      backup: name === 'nightly' ? 'daily' : 'off-site',
      leads: rows,
      place: one.place?.replace(/\.parquet$/, '.db.gz') ?? null,
    }));
}
