import { z } from 'zod';
import { count, time } from './values.ts';

/** A value of the configuration in force, with its origin. Secrets are masked. */
const ConfigValue = z.object({
  /** Path of the option, for example `sinks.crm.url`. */
  path: z.string(),
  value: z.string(),
  /** Where the value was set, for example `leadsync.yaml:12`, `environment LEADS_CLIENT_ID`, `file /run/secrets/x` or `default`. */
  origin: z.string(),
});

/** The configuration in force. `stale` is set while the file is not valid, or could not be applied. */
export const Configuration = z.object({
  generation: count,
  loaded_at: time,
  stale: z
    .object({
      since: time,
      faults: z.array(z.string()),
      /** Why the file could not be applied although it is valid; null if it has faults. */
      failure: z.string().nullable(),
    })
    .nullable(),
  values: z.array(ConfigValue),
});

/** Result of a reload. Also has the fields `changes` and `restart` if the file was applied, otherwise `faults` and `failure`. */
export const ReloadResult = z.looseObject({ applied: z.boolean(), generation: count });

/** What a reload would change. `options` is null if the file has faults. */
export const ReloadPreview = z.object({
  /** The absolute path of the configuration file. */
  file: z.string(),
  options: z
    .array(
      z.object({
        path: z.string(),
        /** The value in force, or null. A secret reads `[secret]`. */
        before: z.string().nullable(),
        /** The value in the file, or null. A secret reads `[secret]`. */
        after: z.string().nullable(),
        /** Whether the change takes effect only at the next restart. */
        restart: z.boolean(),
      }),
    )
    .nullable(),
  plan: z
    .array(z.string())
    .describe(
      'One sentence for each source, sink, export and backup that would change, as in `leadsync plan`: for example how many leads a sink is owed.',
    ),
  plan_failure: z
    .string()
    .nullable()
    .describe(
      'Why `plan` is missing: what leadsync could not read from the ledger. Null if `plan` is present.',
    ),
  faults: z.array(z.string()),
});

/** Result of a test event. */
export const TestResult = z.object({
  arrived: z.boolean(),
  duration_ms: z.number(),
  /** What happened, with the next step if the event did not arrive. */
  what: z.string(),
});

export type Configuration = z.infer<typeof Configuration>;
export type ReloadPreview = z.infer<typeof ReloadPreview>;
export type TestResult = z.infer<typeof TestResult>;
