import { z } from 'zod';
import { accessOptions, keyFault } from '../../bucket/bucket-options.ts';
import { relations } from '../../catalog/catalog.ts';
import { builtOnce } from '../../platform/options/built-once.ts';
import { duration } from '../../platform/options/option-types.ts';
import { isTimezone } from '../../platform/time/timezone.ts';
import { BACKUP, EXPORT_FORMATS, type ExportFormat } from './format-names.ts';
import type { ExportSchedule } from './schedule.ts';

const NAMES = relations.map(({ name }) => name);

const [SHORTEST_MS, LONGEST_MS] = [60_000, 366 * 86_400_000];

/** Returns the options that set the schedule of an export or a backup. */
const scheduleOptions = builtOnce(() => ({
  every: duration()
    .refine((ms) => ms >= SHORTEST_MS && ms <= LONGEST_MS, 'must be between 1m and 366d')
    .optional()
    .describe('The interval between the starts of two runs. Set either this or `at`.'),
  at: z
    .string()
    .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day such as "03:00", in quotes')
    .optional()
    .describe('The time of a daily run: `"03:00"`. Set either this or `every`.'),
  timezone: z
    .string()
    .refine(isTimezone, 'must be a time zone such as Europe/Berlin')
    .optional()
    .describe('The time zone of `at`, such as Europe/Berlin. Absent: UTC.'),
}));

/** Returns the options of every export, whatever its destination. */
const common = builtOnce(() => ({
  tables: z
    .array(z.enum(['all', ...NAMES]))
    .min(1)
    .default(['leads'])
    .describe(
      'Tables and views of the store, or `[all]`. One table makes a file; several make a folder of files.',
    ),
  format: z
    .enum(EXPORT_FORMATS)
    .default('parquet')
    .describe('The format of the files; `sqlite` is one file with all tables.'),
  rows: z
    .enum(['all', 'new'])
    .default('all')
    .describe(
      '`new`: rows that were added or changed since an hour before the last run. Some rows repeat; recognise them by their key.',
    ),
  ...scheduleOptions(),
  keep: z
    .int()
    .min(1)
    .optional()
    .describe(
      'The number of newest exports to keep; leadsync removes older ones. Absent: keeps all. Cannot be combined with `rows: new`, whose files build on each other.',
    ),
}));

/** Returns the options of every backup, whatever its destination. */
const backupCommon = builtOnce(() => ({
  ...scheduleOptions(),
  keep: z
    .int()
    .min(1)
    .optional()
    .describe(
      'The number of newest backups to keep. Before a run, leadsync removes those beyond this number; it removes the oldest of the rest only once the new backup is complete. Absent: keeps all.',
    ),
}));

const directoryOptions = builtOnce(() => ({
  directory: z
    .string()
    .min(1, 'must not be empty')
    .refine((path) => !path.includes('\0'), 'must not contain NUL')
    .describe('The folder for the files, which appear there only when complete. The first run creates it.'),
}));

const s3Options = builtOnce(() => ({
  bucket: z.string().min(1, 'must not be empty').describe('The bucket, which must exist.'),
  prefix: z
    .string()
    .default('')
    .describe('The beginning of every key. End it with `/` for a folder: `leadsync/`.'),
  ...accessOptions(),
  path_style: accessOptions().path_style.default(false),
  checksums: accessOptions().checksums.default(true),
}));

const directory = {
  type: 'directory',
  summary: 'Files in a folder; each appears only when it is complete.',
} as const;

const s3 = {
  type: 's3',
  summary: 'Objects in a bucket of S3-compatible storage; each appears only when it is complete.',
} as const;

/** Returns the types of exports, by destination, each with its options. */
export const exportTypes = builtOnce(() => typesWith(common()));

/** Returns the types of backups, by destination, each with its options. */
export const backupTypes = builtOnce(() => typesWith(backupCommon()));

/** Returns the types of destinations, each with its own options and the common ones. */
function typesWith<Common extends z.ZodRawShape>(common: Common) {
  return [
    { ...directory, options: z.strictObject({ ...directoryOptions(), ...common }) },
    { ...s3, options: z.strictObject({ ...s3Options(), ...common }) },
  ] as const;
}

/** Returns the schema of `exports:` in the configuration. `name` is the schema of an export's name. */
export function exportOptions(name: z.ZodString) {
  const [toDirectory, toBucket] = exportTypes();
  const entry = entryOf(toDirectory.options.shape, toBucket.options.shape).superRefine((options, context) => {
    for (const { path, message } of faultsIn(options)) context.addIssue({ code: 'custom', path, message });
  });
  return z.record(name, entry);
}

/** Returns the schema of `backups:` in the configuration. `name` is the schema of a backup's name. */
export function backupOptions(name: z.ZodString) {
  const [toDirectory, toBucket] = backupTypes();
  const entry = entryOf(toDirectory.options.shape, toBucket.options.shape).superRefine((options, context) => {
    for (const { path, message } of faultsIn({ ...options, rows: 'all' }))
      context.addIssue({ code: 'custom', path, message });
  });
  return z.record(name, entry);
}

/** Returns the schema of an entry: the type of its destination, and the options of that type. */
function entryOf<ToDirectory extends z.ZodRawShape, ToBucket extends z.ZodRawShape>(
  toDirectory: ToDirectory,
  toBucket: ToBucket,
) {
  return z.discriminatedUnion(
    'type',
    [
      z.strictObject({ type: z.literal(directory.type).describe(directory.summary), ...toDirectory }),
      z.strictObject({ type: z.literal(s3.type).describe(s3.summary), ...toBucket }),
    ],
    { error: wrongType },
  );
}

function wrongType({ code }: { readonly code: string }): string | undefined {
  return code === 'invalid_union' ? 'must be one of directory, s3' : undefined;
}

type Entry = z.output<ReturnType<typeof exportOptions>>[string];
type BackupEntry = z.output<ReturnType<typeof backupOptions>>[string];

/** The destination of an export or backup, as configured. */
export type ExportTarget =
  | { readonly type: 'directory'; readonly directory: string }
  | ({ readonly type: 's3' } & z.output<z.ZodObject<ReturnType<typeof s3Options>>>);

/** The configuration of a scheduled export, or of a scheduled backup, whose `format` is `backup`. */
export interface ExportConfig {
  readonly name: string;
  /** Empty for a backup, which contains everything. */
  readonly tables: readonly string[];
  readonly format: ExportFormat | typeof BACKUP;
  readonly rows: 'all' | 'new';
  readonly schedule: ExportSchedule;
  readonly keep: number | undefined;
  readonly target: ExportTarget;
}

/** Returns the configuration of an export from its validated options. */
export function exportConfigOf(name: string, options: Entry): ExportConfig {
  const { tables, format, rows, every, at, timezone, keep, ...target } = options;
  const schedule = scheduleOf({ every, at, timezone });
  return { name, tables: tablesOf(tables), format, rows, schedule, keep, target };
}

/** Returns the configuration of a backup from its validated options. */
export function backupConfigOf(name: string, options: BackupEntry): ExportConfig {
  const { every, at, timezone, keep, ...target } = options;
  const schedule = scheduleOf({ every, at, timezone });
  return { name, tables: [], format: BACKUP, rows: 'all', schedule, keep, target };
}

/** Returns the configuration of a single backup outside any schedule. */
export function oneBackup(target: ExportTarget, keep: number | undefined): ExportConfig {
  return {
    name: 'leadsync',
    tables: [],
    format: BACKUP,
    rows: 'all',
    schedule: { everyMs: LONGEST_MS },
    keep,
    target,
  };
}

/** Whether the configuration is that of a backup. */
export function isBackup({ format }: Pick<ExportConfig, 'format'>): boolean {
  return format === BACKUP;
}

function scheduleOf({ every, at, timezone }: Pick<Entry, 'every' | 'at' | 'timezone'>): ExportSchedule {
  return at === undefined ? { everyMs: every as number } : { at, timezone: timezone ?? 'UTC' };
}

function tablesOf(tables: readonly string[]): readonly string[] {
  return tables.includes('all') ? NAMES : [...new Set(tables)];
}

function faultsIn(options: BackupEntry & Pick<Entry, 'rows'>): { path: string[]; message: string }[] {
  const { every, at, timezone, rows, keep } = options;
  const wrongKeys = options.type === 's3' ? keyFault(options) : undefined;
  return [
    ...(every === undefined && at === undefined
      ? [{ path: [], message: 'has no schedule: set `every: 1d` or `at: "03:00"`' }]
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
    ...(wrongKeys === undefined ? [] : [{ path: [], message: wrongKeys }]),
  ];
}
