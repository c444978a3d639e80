import { z } from 'zod';

const values = z.array(z.number());

/** What a figure is held against: a program that does the same, or less, in the same run. */
const reference = z.strictObject({
  name: z.string(),
  /** One value a run; empty when it could not do the work at all, and then `cannot` says why. */
  values,
  cannot: z.string().optional(),
});

/** Where to get to: the median, or its ratio to a reference's, is to be at most or at least `limit`. */
const aim = z.strictObject({
  is: z.enum(['at most', 'at least']),
  limit: z.number(),
  /** The name of a reference; absent: the limit is in the figure's own unit. */
  of: z.string().optional(),
});

const figure = z.strictObject({
  name: z.string(),
  unit: z.enum(['s', 'ms', 'MB', 'leads/s', '%', '']),
  /** One value a run. */
  values,
  references: z.array(reference),
  aims: z.array(aim),
});

/** How a quantity grows with the number of leads: a line of a chart. */
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
  /** How it was measured here, in sentences. */
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
  /** Where the ledger and PostgreSQL's files lay. */
  disk: z.string(),
});

/** All that a run of the benchmark has found: what `--json` writes and `--write-docs` reads. */
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
