import {
  bucketFailure,
  type KnownFailures,
  knownFailures,
  type NamedBucket,
} from '../../bucket/bucket-failure.ts';
import { readRetryAfter } from '../../platform/http/retry-after.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';

const RIGHTS =
  'The keys need s3:PutObject, s3:ListBucket and s3:GetObject to deliver, and s3:AbortMultipartUpload for `check`.';

const KNOWN: KnownFailures = new Map([
  ...knownFailures({
    bucket: 'to',
    region: 'bucket_region',
    rights: RIGHTS,
    full: 'Raise its quota, or remove files from it.',
  }),
  ['EntityTooLarge', ['does not accept a file of this size', 'Lower `batch.max`.']],
  [
    'ConditionalRequestConflict',
    [
      'is handling another request for the same file',
      'If this persists, check whether another program writes there.',
    ],
  ],
  [
    'InvalidObjectState',
    [
      'has a file in an archive, which cannot be read directly',
      'Restore the file from the archive, then try again.',
    ],
  ],
]);

/** Returns the error for a failure of a drop's bucket. `unsent` is as in SinkUnavailable. */
export function bucketUnavailable(
  bucket: NamedBucket,
  cause: unknown,
  { now, unsent = false }: { now: Date; unsent?: boolean },
): SinkUnavailable {
  const { message, hint, httpStatus } = bucketFailure(bucket, cause, KNOWN);
  const { 'retry-after': retryAfter, date } = headersOf(cause);
  const retryAfterMs = readRetryAfter({ retryAfter, date }, now);
  return new SinkUnavailable(message, { hint, httpStatus, retryAfterMs, unsent, cause });
}

/** Returns the headers of the answer that caused an SDK error. */
function headersOf(error: unknown): Readonly<Record<string, string | undefined>> {
  return (error as { $response?: { headers?: Record<string, string> } }).$response?.headers ?? {};
}
