import { bucketFailure, knownFailures, type NamedBucket } from '../../bucket/bucket-failure.ts';
import { ExportFailed } from '../contract/export-failed.ts';

const RIGHTS =
  'The keys need s3:ListBucket, s3:ListBucketMultipartUploads, s3:PutObject, s3:AbortMultipartUpload and, for `keep` and `erase`, s3:DeleteObject and s3:GetObject.';

const KNOWN = knownFailures({
  bucket: 'bucket',
  region: 'region',
  rights: RIGHTS,
  full: 'Raise its quota, or lower `keep`.',
});

/**
 * Returns the error for a failure of the storage service. The error states the bucket, the cause and the next step, but does not quote the
 * service's answer.
 */
export function storageFailure(target: NamedBucket, error: unknown): ExportFailed {
  if (error instanceof ExportFailed) return error;
  const { message, hint } = bucketFailure(target, error, KNOWN);
  return new ExportFailed(message, hint, error);
}
