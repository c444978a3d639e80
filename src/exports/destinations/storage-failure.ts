import { codeOf } from '../../platform/failures/error-code.ts';
import { networkFailure } from '../../platform/failures/network-failure.ts';
import { ExportFailed } from '../contract/export-failed.ts';

const KEYS = 'Correct `access_key_id` and `secret_access_key`, or the environment of the AWS SDK.';
const RIGHTS =
  'The keys need s3:ListBucket, s3:ListBucketMultipartUploads, s3:PutObject, s3:AbortMultipartUpload and, for `keep` and `erase`, s3:DeleteObject and s3:GetObject.';

const ANOTHER_REGION = ['is in another region', 'Correct `region` or `endpoint`.'] as const;
const LATER = 'If this persists, check the log of the storage, or ask its operator.';
const ITSELF = 'Check that `endpoint` is the address of the storage itself.';

/** Cause and next step of known errors. The key is the error's name in S3 or in the SDK, its code in Node, or its HTTP status. */
const KNOWN = new Map<string, readonly [what: string, hint: string]>(
  Object.entries({
    NoSuchBucket: ['does not exist', 'Create it, or correct `bucket`.'],
    InvalidBucketName: ['is not a valid bucket name', 'Correct `bucket`.'],
    AccessDenied: ['refuses access with these keys', RIGHTS],
    AllAccessDisabled: ['refuses all access', RIGHTS],
    InvalidAccessKeyId: ['does not know the access key', KEYS],
    SignatureDoesNotMatch: ['does not accept the secret key', KEYS],
    ExpiredToken: ['does not accept keys that have expired', KEYS],
    InvalidToken: ['does not accept the session token', KEYS],
    CredentialsProviderError: ['needs keys, and none were found', KEYS],
    PermanentRedirect: ANOTHER_REGION,
    TemporaryRedirect: ANOTHER_REGION,
    AuthorizationHeaderMalformed: ANOTHER_REGION,
    IllegalLocationConstraintException: ANOTHER_REGION,
    301: ANOTHER_REGION,
    ERR_INVALID_CHAR: ['cannot be used with these keys: they contain an invalid character', KEYS],
    RequestTimeTooSkewed: ['does not accept the time of this machine', "Set this machine's clock."],
    SlowDown: ['asks for fewer requests', LATER],
    NotImplemented: [
      'does not support the request',
      'Set `checksums: false`, or use another storage service.',
    ],
    InvalidArgument: [
      'does not support the request',
      'Set `checksums: false`, or use another storage service.',
    ],
    QuotaExceeded: ['is full', 'Raise its quota, or lower `keep`.'],
    NoListing: ['returns a listing that leadsync cannot use', ITSELF],
    DeadlinePassed: ['takes too long for a listing', LATER],
    TimeoutError: ['does not answer', 'Check that `endpoint` is right and reachable.'],
  }),
);

/** Names of errors that the SDK throws if the answer of the storage is not in the form of S3. They are not its error codes. */
const NO_CODES: ReadonlySet<string> = new Set(['Error', 'TypeError', 'SyntaxError', 'RangeError', 'Unknown']);

/** The parts of a bucket's configuration that messages name. */
interface Bucket {
  readonly bucket: string;
  readonly endpoint?: string | undefined;
}

/** Returns the bucket as the subject of a sentence, with its host unless that is AWS. */
export function bucketInWords({ bucket, endpoint }: Bucket): string {
  return `The bucket ${bucket}${endpoint === undefined ? '' : ` at ${URL.parse(endpoint)?.host}`}`;
}

/** Returns the error for a failure of the storage: the bucket, the cause and the next step. Drops the text of the storage's answer. */
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

/** Returns the error code of the storage or of the connection; `no code` if there is none. */
function nameOf(error: unknown, status: number | undefined): string {
  const code = codeOf(error);
  const { name = '' } = error as { name?: string };
  // The SDK reports a reset connection as a TimeoutError.
  if (code !== undefined && KNOWN.has(code)) return code;
  if (name === 'TimeoutError' && code === 'ECONNRESET') return code;
  if (status !== undefined && NO_CODES.has(name))
    return KNOWN.has(String(status)) ? String(status) : 'no code';
  return /^\w{1,64}$/.test(name) ? name : 'no code';
}
