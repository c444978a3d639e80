import { z } from 'zod';
import { relations } from '../../catalog/documented.ts';
import { duration, secret } from '../../platform/options/option-types.ts';
import { isTimezone } from '../../platform/time/timezone.ts';
import { EXPORT_FORMATS, type ExportFormat } from './export-format.ts';
import type { ExportSchedule } from './schedule.ts';

const NAMES = relations.map(({ name }) => name);

const [SHORTEST_MS, LONGEST_MS] = [60_000, 366 * 86_400_000];

/** What every export has, wherever it goes. */
const common = {
  tables: z
    .array(z.enum(['all', ...NAMES]))
    .min(1)
    .default(['leads'])
    .describe('Tables and views of the store, or `[all]`. One is a file, several are a folder of files.'),
  format: z
    .enum(EXPORT_FORMATS)
    .default('parquet')
    .describe('The format of the files; `sqlite` is one file with all tables.'),
  rows: z
    .enum(['all', 'new'])
    .default('all')
    .describe(
      '`new`: rows that came or changed since the last run, and in the hour before it. Recognise a row that comes again by its key.',
    ),
  every: duration()
    .refine((ms) => ms >= SHORTEST_MS && ms <= LONGEST_MS, 'must be between 1m and 366d')
    .optional()
    .describe('The time from the start of one to the next. Either this or `at`.'),
  at: z
    .string()
    .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be an hour of the day such as "03:00", in quotes')
    .optional()
    .describe('Once a day, at this hour: `"03:00"`. Either this or `every`.'),
  timezone: z
    .string()
    .refine(isTimezone, 'must be a time zone such as Europe/Berlin')
    .optional()
    .describe('Where the clock of `at` hangs, such as Europe/Berlin. Absent: UTC.'),
  keep: z
    .int()
    .min(1)
    .optional()
    .describe(
      'Keeps this many of the export, the newest, and removes older ones. Absent: keeps all. Not with `rows: new`, whose files build on each other.',
    ),
};

const directoryOptions = {
  directory: z
    .string()
    .min(1, 'must not be empty')
    .refine((path) => !path.includes('\0'), 'must not hold a NUL')
    .describe('The folder that files appear in, each complete; made by the first run.'),
};

const s3Options = {
  bucket: z.string().min(1, 'must not be empty').describe('The bucket, which has to be there.'),
  prefix: z
    .string()
    .default('')
    .describe('Goes before every key as it is; end it with `/` for a folder: `leadsync/`.'),
  region: z
    .string()
    .regex(/^[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?$/i, 'must be a region such as eu-central-1')
    .optional()
    .describe('The region of the bucket. Absent: what the environment of the AWS SDK says.'),
  endpoint: z
    .url({ protocol: /^https?$/, error: 'must be an address such as https://minio.example.com' })
    .optional()
    .describe('The address of another service than that of AWS: MinIO, R2, Ceph. Absent: AWS.'),
  path_style: z
    .boolean()
    .default(false)
    .describe('Names the bucket in the path and not in the host, as most services beside AWS want it.'),
  checksums: z
    .boolean()
    .default(true)
    .describe(
      'Sends a CRC32 of each part, which the service compares. `false` for a service that refuses it.',
    ),
  access_key_id: secret()
    .optional()
    .describe(
      'Absent, with the key below: the chain of the AWS SDK (environment, profile, role of the machine).',
    ),
  secret_access_key: secret().optional().describe('The key to it.'),
  session_token: secret().optional().describe('Where the keys are temporary.'),
};

const directory = {
  type: 'directory',
  summary: 'Files in a folder, each complete the moment it appears.',
  options: z.strictObject({ ...directoryOptions, ...common }),
} as const;

const s3 = {
  type: 's3',
  summary: 'Objects in a bucket of an S3-compatible storage, each complete the moment it appears.',
  options: z.strictObject({ ...s3Options, ...common }),
} as const;

/** Where exports can go, each with the options of such an export. */
export const exportTypes = [directory, s3] as const;

/** `exports:` in the configuration. `name` is what an export may be called. */
export function exportOptions(name: z.ZodString) {
  const entry = z
    .discriminatedUnion(
      'type',
      [
        z.strictObject({
          type: z.literal(directory.type).describe(directory.summary),
          ...directory.options.shape,
        }),
        z.strictObject({ type: z.literal(s3.type).describe(s3.summary), ...s3.options.shape }),
      ],
      { error: ({ code }) => (code === 'invalid_union' ? 'must be one of directory, s3' : undefined) },
    )
    .superRefine((options, context) => {
      for (const { path, message } of faultsIn(options)) context.addIssue({ code: 'custom', path, message });
    });
  return z.record(name, entry);
}

type Entry = z.output<ReturnType<typeof exportOptions>>[string];

/** Where an export goes. */
export type ExportTarget =
  | { readonly type: 'directory'; readonly directory: string }
  | ({ readonly type: 's3' } & z.output<z.ZodObject<typeof s3Options>>);

/** A scheduled export, as it is configured. */
export interface ExportConfig {
  readonly name: string;
  readonly tables: readonly string[];
  readonly format: ExportFormat;
  readonly rows: 'all' | 'new';
  readonly schedule: ExportSchedule;
  readonly keep: number | undefined;
  readonly target: ExportTarget;
}

/** What the options say. */
export function exportConfigOf(name: string, options: Entry): ExportConfig {
  const { tables, format, rows, every, at, timezone, keep, ...target } = options;
  const schedule: ExportSchedule =
    at === undefined ? { everyMs: every as number } : { at, timezone: timezone ?? 'UTC' };
  return { name, tables: tablesOf(tables), format, rows, schedule, keep, target };
}

function tablesOf(tables: readonly string[]): readonly string[] {
  return tables.includes('all') ? NAMES : [...new Set(tables)];
}

function faultsIn(options: Entry): { path: string[]; message: string }[] {
  const { every, at, timezone, rows, keep } = options;
  const half =
    options.type === 's3' &&
    (options.access_key_id === undefined) !== (options.secret_access_key === undefined);
  return [
    ...(every === undefined && at === undefined
      ? [{ path: [], message: 'says nothing of when: give `every: 1d` or `at: "03:00"`' }]
      : []),
    ...(every !== undefined && at !== undefined
      ? [{ path: ['at'], message: 'cannot be combined with `every`: keep one of the two' }]
      : []),
    ...(timezone !== undefined && at === undefined
      ? [{ path: ['timezone'], message: 'has no effect without `at`: remove it' }]
      : []),
    ...(rows === 'new' && keep !== undefined
      ? [
          {
            path: ['keep'],
            message:
              'would delete rows for good with `rows: new`: the oldest export holds what no newer one has. Remove `keep`, or set `rows: all`',
          },
        ]
      : []),
    ...(half
      ? [{ path: [], message: 'has one of `access_key_id` and `secret_access_key`: give both, or neither' }]
      : []),
  ];
}
