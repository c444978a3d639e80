import { networkFailure } from '../../platform/failures/network-failure.ts';
import { ExportFailed } from '../contract/export-failed.ts';

const KEYS = 'Correct `access_key_id` and `secret_access_key`, or what the environment of the AWS SDK says.';
const RIGHTS =
  'It needs s3:ListBucket, s3:ListBucketMultipartUploads, s3:PutObject, s3:AbortMultipartUpload and, for `keep` and `erase`, s3:DeleteObject and s3:GetObject.';

const ITSELF = 'See whether `endpoint` is the address of the storage itself.';

/** What the answers mean that somebody has to do something about, by the name that the storage gives them. */
const KNOWN: Readonly<Record<string, readonly [what: string, hint: string]>> = {
  NoSuchBucket: ['does not exist', 'Make it, or correct `bucket`.'],
  InvalidBucketName: ['cannot be the name of a bucket', 'Correct `bucket`.'],
  AccessDenied: ['must not be used with these keys', RIGHTS],
  AllAccessDisabled: ['must not be used', RIGHTS],
  InvalidAccessKeyId: ['does not know the access key', KEYS],
  SignatureDoesNotMatch: ['does not take the secret key', KEYS],
  ExpiredToken: ['does not take keys that have expired', KEYS],
  InvalidToken: ['does not take the session token', KEYS],
  CredentialsProviderError: ['cannot be asked without keys, and none were found', KEYS],
  PermanentRedirect: ['lies in another region', 'Correct `region` or `endpoint`.'],
  AuthorizationHeaderMalformed: ['lies in another region', 'Correct `region`.'],
  RequestTimeTooSkewed: ['does not take requests of this time', "Set this machine's clock."],
  SlowDown: ['asks for fewer requests', 'It is tried again.'],
  NotImplemented: ['does not know what was asked', 'Set `checksums: false`, or use another storage.'],
  InvalidArgument: ['does not know what was asked', 'Set `checksums: false`, or use another storage.'],
  QuotaExceeded: ['is full', 'Raise its quota, or lower `keep`.'],
  NoListing: ['gives a listing that leadsync cannot use', ITSELF],
  TimeoutError: ['does not answer', 'See whether `endpoint` is right and within reach.'],
};

/** A bucket, as messages name it. */
interface Bucket {
  readonly bucket: string;
  readonly endpoint?: string | undefined;
}

/** Returns the bucket as a sentence begins with it, and where it is unless that is AWS. */
export function bucketInWords({ bucket, endpoint }: Bucket): string {
  return `The bucket ${bucket}${endpoint === undefined ? '' : ` at ${URL.parse(endpoint)?.host}`}`;
}

/** A failure of a storage in words: which bucket, what is wrong, what to do. Nothing that it answered is passed on. */
export function storageFailure(target: Bucket, error: unknown): ExportFailed {
  if (error instanceof ExportFailed) return error;
  const where = bucketInWords(target);
  const { name: given = '', $metadata } = error as { name?: string; $metadata?: { httpStatusCode?: number } };
  const name = /^\w{1,64}$/.test(given) ? given : 'no code';
  const status = $metadata?.httpStatusCode;
  const known = KNOWN[name] ?? (status === 403 ? KNOWN['AccessDenied'] : undefined);
  if (known) return new ExportFailed(`${where} ${known[0]} (${name}).`, known[1], error);
  if (status !== undefined)
    return new ExportFailed(`${where} answered ${status} (${name}).`, 'It is tried again.', error);
  const { what, hint } = networkFailure(error);
  return new ExportFailed(`${where} ${what}.`, hint, error);
}
