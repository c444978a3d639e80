import { codeOf } from '../../platform/failures/error-code.ts';
import { networkFailure } from '../../platform/failures/network-failure.ts';
import { ExportFailed } from '../contract/export-failed.ts';

const KEYS = 'Correct `access_key_id` and `secret_access_key`, or what the environment of the AWS SDK says.';
const RIGHTS =
  'It needs s3:ListBucket, s3:ListBucketMultipartUploads, s3:PutObject, s3:AbortMultipartUpload and, for `keep` and `erase`, s3:DeleteObject and s3:GetObject.';

const ANOTHER_REGION = ['lies in another region', 'Correct `region` or `endpoint`.'] as const;
const LATER = 'If it stays so, look into the log of the storage, or ask whoever runs it.';
const ITSELF = 'See whether `endpoint` is the address of the storage itself.';

/** What the answers mean that somebody has to do something about, by the name that the storage gives them. */
const KNOWN = new Map<string, readonly [what: string, hint: string]>(
  Object.entries({
    NoSuchBucket: ['does not exist', 'Make it, or correct `bucket`.'],
    InvalidBucketName: ['cannot be the name of a bucket', 'Correct `bucket`.'],
    AccessDenied: ['must not be used with these keys', RIGHTS],
    AllAccessDisabled: ['must not be used', RIGHTS],
    InvalidAccessKeyId: ['does not know the access key', KEYS],
    SignatureDoesNotMatch: ['does not take the secret key', KEYS],
    ExpiredToken: ['does not take keys that have expired', KEYS],
    InvalidToken: ['does not take the session token', KEYS],
    CredentialsProviderError: ['cannot be asked without keys, and none were found', KEYS],
    PermanentRedirect: ANOTHER_REGION,
    TemporaryRedirect: ANOTHER_REGION,
    AuthorizationHeaderMalformed: ANOTHER_REGION,
    IllegalLocationConstraintException: ANOTHER_REGION,
    301: ANOTHER_REGION,
    ERR_INVALID_CHAR: ['cannot be asked with these keys: they hold a character that no key has', KEYS],
    RequestTimeTooSkewed: ['does not take requests of this time', "Set this machine's clock."],
    SlowDown: ['asks for fewer requests', LATER],
    NotImplemented: ['does not know what was asked', 'Set `checksums: false`, or use another storage.'],
    InvalidArgument: ['does not know what was asked', 'Set `checksums: false`, or use another storage.'],
    QuotaExceeded: ['is full', 'Raise its quota, or lower `keep`.'],
    NoListing: ['gives a listing that leadsync cannot use', ITSELF],
    TimeoutError: ['does not answer', 'See whether `endpoint` is right and within reach.'],
  }),
);

/** What names of errors say that are not the storage's: that its answer is not in the form of S3. */
const NO_CODES: ReadonlySet<string> = new Set(['Error', 'TypeError', 'SyntaxError', 'RangeError', 'Unknown']);

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
  const status = (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
  const name = nameOf(error, status);
  const known = KNOWN.get(name) ?? (status === 403 ? KNOWN.get('AccessDenied') : undefined);
  if (known) return new ExportFailed(`${where} ${known[0]} (${name}).`, known[1], error);
  if (status !== undefined) {
    const hint = status >= 500 || status === 429 ? LATER : ITSELF;
    return new ExportFailed(`${where} answered ${status} (${name}).`, hint, error);
  }
  const { what, hint } = networkFailure(error);
  return new ExportFailed(`${where} ${what}.`, hint, error);
}

/** The code that the storage gave or that the connection failed with, as far as one is known. */
function nameOf(error: unknown, status: number | undefined): string {
  const code = codeOf(error);
  const { name = '' } = error as { name?: string };
  // The SDK calls a reset a timeout.
  if (code !== undefined && KNOWN.has(code)) return code;
  if (name === 'TimeoutError' && code === 'ECONNRESET') return code;
  if (status !== undefined && NO_CODES.has(name))
    return KNOWN.has(String(status)) ? String(status) : 'no code';
  return /^\w{1,64}$/.test(name) ? name : 'no code';
}
