import { z } from 'zod';
import { builtOnce } from '../platform/options/built-once.ts';
import { secret } from '../platform/options/option-types.ts';

const WRONG_ENDPOINT = 'must be an address such as https://minio.example.com, without a user or password';

/** Returns the schemas of the options by which leadsync reaches a bucket, without the name of the bucket. */
export const accessOptions = builtOnce(() => ({
  region: z
    .string()
    .regex(/^[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?$/i, 'must be a region such as eu-central-1')
    .optional()
    .describe('The region of the bucket. Absent: the region in the environment of the AWS SDK.'),
  endpoint: z
    .url({ protocol: /^https?$/, error: WRONG_ENDPOINT })
    .refine((address) => !/\/\/[^/?#]*@/.test(address), WRONG_ENDPOINT)
    .optional()
    .describe(
      'The address of an S3-compatible service other than AWS, such as MinIO, R2 or Ceph. Absent: AWS.',
    ),
  path_style: z
    .boolean()
    .describe(
      'Whether requests name the bucket in the path instead of the host name, as most services other than AWS require.',
    ),
  checksums: z
    .boolean()
    .describe(
      'Whether to send a CRC32 checksum of each part, which the service verifies. Set `false` for a service that refuses it.',
    ),
  access_key_id: secret()
    .optional()
    .describe(
      'The access key id. Absent, together with the secret key: the credential chain of the AWS SDK (environment, profile, role of the machine).',
    ),
  secret_access_key: secret().optional().describe('The secret access key.'),
  session_token: secret().optional().describe('The session token of temporary keys.'),
}));

/** A bucket, and how to reach it. */
export type BucketAccess = Readonly<
  { bucket: string } & z.output<z.ZodObject<ReturnType<typeof accessOptions>>>
>;

/** Returns the fault of a bucket's keys, as a phrase; undefined if both are set, or neither. */
export function keyFault(
  keys: Pick<BucketAccess, 'access_key_id' | 'secret_access_key'>,
): string | undefined {
  return (keys.access_key_id === undefined) === (keys.secret_access_key === undefined)
    ? undefined
    : 'has only one of `access_key_id` and `secret_access_key`: set both, or neither';
}
