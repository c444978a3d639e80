import type { Figure, Report } from '../../bench/report/report.ts';

/** A figure of `wall` in s with the given parts in place of its own. */
export function aFigure(parts: Partial<Figure> = {}): Figure {
  return { name: 'wall', unit: 's', values: [1, 2, 3], references: [], aims: [], ...parts };
}

/** A report of one row with the given figures. */
export function aReport(figures: readonly Figure[], parts: Partial<Report> = {}): Report {
  return {
    at: '2026-11-20T10:00:00.000Z',
    version: '0.1.0',
    seconds: 812,
    quick: false,
    runs: 3,
    machine: {
      cpu: 'A processor',
      cores: 2,
      memoryGb: 8,
      system: 'Linux 6.1 x64',
      node: '24.21.0',
      postgres: 'PostgreSQL 15.18',
      redis: 'Redis 7.0.15',
      disk: 'ext4',
    },
    rows: [{ number: 4, title: 'Some work', figures: [...figures], series: [], notes: ['A note.'] }],
    ...parts,
  };
}
