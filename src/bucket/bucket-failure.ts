import { codeOf } from '../platform/failures/error-code.ts';
import { networkFailure } from '../platform/failures/network-failure.ts';

const KEYS = 'Correct `access_key_id` and `secret_access_key`, or the environment of the AWS SDK.';
/** Name of the error for a client without a known region. */
export const NO_REGION = 'NoRegion';
/** Name of the error for a request that something other than a storage service answers. */
export const NO_STORAGE = 'NoStorage';

/** Codes with which AWS answers if the bucket is in another region. */
const ANOTHER_REGION = [
  'PermanentRedirect',
  'TemporaryRedirect',
  'AuthorizationHeaderMalformed',
  'IllegalLocationConstraintException',
  '301',
];
const LATER = 'If this persists, check the log of the storage service, or ask its operator.';
const ITSELF = 'Check that `endpoint` is the address of the storage service itself.';

/** Cause and next step of errors. The key is the error's name in S3 or in the SDK, its code in Node, or its HTTP status. */
export type KnownFailures = ReadonlyMap<string, readonly [what: string, hint: string]>;

/** Failures with the same next step for every use of a bucket. */
const COMMON: KnownFailures = new Map(
  Object.entries<readonly [string, string]>({
    InvalidAccessKeyId: ['does not know the access key', KEYS],
    SignatureDoesNotMatch: ['does not accept the secret key', KEYS],
    ExpiredToken: ['does not accept keys that have expired', KEYS],
    InvalidToken: ['does not accept the session token', KEYS],
    CredentialsProviderError: ['needs keys, and none were found', KEYS],
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
    [NO_STORAGE]: ['does not answer like a storage service', ITSELF],
    NoListing: ['returns a listing that leadsync cannot use', ITSELF],
    DeadlinePassed: ['takes too long to answer', LATER],
    TimeoutError: ['does not answer', 'Check that `endpoint` is right and reachable.'],
  }),
);

/** The parts of next steps that depend on what the bucket is used for. */
export interface BucketWords {
  /** The name of the option for the bucket. */
  readonly bucket: string;
  /** The name of the option for its region. */
  readonly region: string;
  /** The rights that the keys need. */
  readonly rights: string;
  /** What to do if the bucket is full. */
  readonly full: string;
}

/** Returns the known failures of a bucket, worded for its use. */
export function knownFailures({ bucket, region, rights, full }: BucketWords): KnownFailures {
  return new Map([
    ...COMMON,
    ['NoSuchBucket', ['does not exist', `Create it, or correct \`${bucket}\`.`]],
    ['InvalidBucketName', ['is not a valid bucket name', `Correct \`${bucket}\`.`]],
    ['AccessDenied', ['refuses access with these keys', rights]],
    ['AllAccessDisabled', ['refuses all access', rights]],
    ['QuotaExceeded', ['is full', full]],
    ...ANOTHER_REGION.map((code): [string, [string, string]] => [
      code,
      ['is in another region', `Correct \`${region}\` or \`endpoint\`.`],
    ]),
    [NO_REGION, ['has no known region', `Set \`${region}\`, or AWS_REGION in the environment.`]],
  ]);
}

/** Names of errors that the SDK throws if an answer is not a valid S3 response. They are not S3 error codes. */
const NO_CODES: ReadonlySet<string> = new Set(['Error', 'TypeError', 'SyntaxError', 'RangeError', 'Unknown']);

/** The parts of a bucket's configuration that messages name. */
export interface NamedBucket {
  readonly bucket: string;
  readonly endpoint?: string | undefined;
}

/** A failure of a bucket, in words. */
export interface BucketFailure {
  readonly message: string;
  readonly hint: string;
  /** The status of the answer; undefined without an answer. */
  readonly httpStatus: number | undefined;
}

/** Returns the bucket as the subject of a sentence, with its host unless that is AWS. */
export function bucketInWords({ bucket, endpoint }: NamedBucket): string {
  return `The bucket ${bucket}${endpoint === undefined ? '' : ` at ${URL.parse(endpoint)?.host}`}`;
}

/** Returns the description of a failure: the bucket, the cause and the next step. Omits the text of the answer. */
export function bucketFailure(bucket: NamedBucket, error: unknown, known: KnownFailures): BucketFailure {
  const where = bucketInWords(bucket);
  const httpStatus = statusOf(error);
  const name = nameOf(error, httpStatus, known);
  const [what, next] = known.get(name) ?? (httpStatus === 403 ? known.get('AccessDenied') : undefined) ?? [];
  if (what !== undefined && next !== undefined)
    return { message: `${where} ${what} (${name}).`, hint: next, httpStatus };
  if (httpStatus !== undefined) {
    const hint = httpStatus >= 500 || httpStatus === 429 ? LATER : ITSELF;
    return { message: `${where} answered ${httpStatus} (${name}).`, hint, httpStatus };
  }
  const { what: failed, hint } = networkFailure(error);
  return { message: `${where} ${failed}.`, hint, httpStatus };
}

/** Returns the HTTP status of an SDK error; undefined if there was no answer. */
export function statusOf(error: unknown): number | undefined {
  return (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
}

/** Returns the error code from the storage service or the connection; `no code` if there is none. */
function nameOf(error: unknown, status: number | undefined, known: KnownFailures): string {
  const code = codeOf(error);
  const { name = '' } = error as { name?: string };
  // The SDK reports a reset connection as a TimeoutError.
  if (code !== undefined && known.has(code)) return code;
  if (name === 'TimeoutError' && code === 'ECONNRESET') return code;
  if (status !== undefined && NO_CODES.has(name))
    return known.has(String(status)) ? String(status) : 'no code';
  return /^\w{1,64}$/.test(name) ? name : 'no code';
}
