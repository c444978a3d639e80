import { z } from 'zod';

const values = z.array(z.number());

/** The program that a figure is compared with. It does the same work or less, in the same run. */
const reference = z.strictObject({
  name: z.string(),
  /** One value for each run; empty if it cannot do the work, for the reason in `cannot`. */
  values,
  cannot: z.string().optional(),
});

/** The aim of a figure: its median, or the ratio to the median of a reference, is at most or at least `limit`. */
const aim = z.strictObject({
  is: z.enum(['at most', 'at least']),
  limit: z.number(),
  /** The name of the reference. Absent: `limit` has the unit of the figure. */
  of: z.string().optional(),
});

const figure = z.strictObject({
  name: z.string(),
  unit: z.enum(['s', 'ms', 'MB', 'leads/s', '%', '']),
  /** One value for each run. */
  values,
  references: z.array(reference),
  aims: z.array(aim),
});

/** A line of a chart: a quantity over the number of leads. */
const series = z.strictObject({
  chart: z.enum(['throughput', 'memory']),
  name: z.string(),
  points: z.array(z.strictObject({ leads: z.number(), values })),
});

const row = z.strictObject({
  number: z.number(),
  title: z.string(),
  figures: z.array(figure),
  series: z.array(series),
  /** Sentences that explain the measurement. */
  notes: z.array(z.string()),
});

const machine = z.strictObject({
  cpu: z.string(),
  cores: z.number(),
  memoryGb: z.number(),
  system: z.string(),
  node: z.string(),
  postgres: z.string(),
  redis: z.string(),
  /** The file system of the ledger and of PostgreSQL. */
  disk: z.string(),
});

/** The results of a run of the benchmark, which `--json` writes and `--write-docs` reads. */
export const reportSchema = z.strictObject({
  at: z.iso.datetime(),
  version: z.string(),
  seconds: z.number(),
  quick: z.boolean(),
  runs: z.number(),
  machine,
  rows: z.array(row),
});

export type Reference = z.output<typeof reference>;
export type Aim = z.output<typeof aim>;
export type Figure = z.output<typeof figure>;
export type Series = z.output<typeof series>;
export type Row = z.output<typeof row>;
export type Machine = z.output<typeof machine>;
export type Report = z.output<typeof reportSchema>;
