import { z } from 'zod';
import { accessOptions, type BucketAccess, keyFault } from '../../bucket/bucket-options.ts';
import { builtOnce } from '../../platform/options/built-once.ts';

/** A bucket, and folders below it, none of which is `.` or `..`: a service or a proxy would resolve these. */
const ADDRESS = /^s3:\/\/([A-Za-z\d][\w.-]{2,62})((?:\/(?!\.{1,2}(?:\/|$))[\w.=-]+)*)\/?$/;
/** Maximum length of an address. A key may have 1,024 bytes, including the name of the file. */
const MAX_ADDRESS = 900;

/** Returns the options that name the place of a drop. `directory` describes the folder in a sentence. */
export function placeOptions(directory: string) {
  return {
    directory: z
      .string()
      .min(1, 'must not be empty')
      .refine((path) => !path.includes('\0'), 'must not contain NUL')
      .refine((path) => !/(^|\/)s3:\//.test(path), 'is the address of a bucket: write it under `to` instead')
      .optional()
      .describe(`${directory} Set either this or \`to\`.`),
    shared: z
      .boolean()
      .optional()
      .describe(
        'Whether all machines that deliver to this sink see the same folder. Then several machines on one ledger in PostgreSQL may have the sink; otherwise one may. Absent: `false`.',
      ),
    to: z
      .string()
      .max(MAX_ADDRESS)
      .regex(
        ADDRESS,
        'must be an address such as s3://acme-leads/leadsync: a bucket, and below it names of letters, digits, and . _ - =',
      )
      .optional()
      .describe(
        'The bucket to drop files in, and the folder in it: `s3://acme-leads/leadsync`. The bucket must exist. Set either this or `directory`.',
      ),
  };
}

/** Returns the schemas of the options by which a drop reaches its bucket. The region is `bucket_region`, because every sink has another option named `region`. */
export const bucketOptions = builtOnce(() => {
  const { region, path_style, checksums, ...others } = accessOptions();
  return {
    bucket_region: region,
    ...others,
    path_style: path_style.optional().describe(`${path_style.description} Absent: \`false\`.`),
    checksums: checksums.optional().describe(`${checksums.description} Absent: \`true\`.`),
  };
});

/** Names of the options that identify the place of a drop. */
export const placeNames: readonly string[] = ['directory', 'to', 'endpoint'];

/** The options of a drop. */
export type DropOptions = z.output<
  z.ZodObject<ReturnType<typeof placeOptions> & ReturnType<typeof bucketOptions>>
>;

/** Reports a missing or second place, because a drop has exactly one, and bucket options that have no effect or are incomplete. */
export function requireOnePlace(options: DropOptions, context: z.RefinementCtx): void {
  for (const [path, message] of faultsIn(options)) context.addIssue({ code: 'custom', path, message });
}

function faultsIn(options: DropOptions): [path: string[], message: string][] {
  const { directory, to } = options;
  if (to === undefined) {
    if (directory === undefined)
      return [[[], 'has no place for its files: set `directory: ./drop`, or `to: s3://BUCKET/FOLDER`']];
    const given = Object.keys(bucketOptions()).filter(
      (name) => options[name as keyof DropOptions] !== undefined,
    );
    return given.map((name) => [[name], 'has no effect without `to`: remove it']);
  }
  const wrongKeys = keyFault(options);
  return [
    ...(options.shared === undefined ? [] : [sharedBucket]),
    ...(directory === undefined ? [] : [twoPlaces]),
    ...(wrongKeys === undefined ? [] : [[[], wrongKeys] as [string[], string]]),
  ];
}

const twoPlaces: [string[], string] = [['to'], 'cannot be combined with `directory`: keep one of the two'];

const sharedBucket: [string[], string] = [['shared'], 'has no effect with `to`: remove it'];

/** Returns the bucket and the prefix of its keys; undefined if the drop is a folder. */
export function bucketOf(
  options: DropOptions,
): { readonly access: BucketAccess; readonly prefix: string } | undefined {
  const [, bucket, folder = ''] = ADDRESS.exec(options.to ?? '') ?? [];
  if (bucket === undefined) return undefined;
  const { bucket_region: region, path_style = false, checksums = true } = options;
  return {
    access: { ...options, bucket, region, path_style, checksums },
    prefix: folder && `${folder.slice(1)}/`,
  };
}
