import { S3Client } from '@aws-sdk/client-s3';
import type { Secret } from '../../platform/options/secret.ts';
import type { ExportTarget } from '../contract/options.ts';

/** The configuration of a bucket. */
export type S3Target = Extract<ExportTarget, { type: 's3' }>;

const CONNECT_MS = 10_000;
/** Maximum time without data from the storage, in ms. */
const SILENCE_MS = 60_000;

/** Returns a client for a bucket. It opens no connection before its first request. */
export function openClient(target: S3Target): S3Client {
  const { endpoint, checksums, access_key_id: id, secret_access_key: key, session_token: token } = target;
  const region = target.region ?? (endpoint === undefined ? undefined : 'us-east-1'); // the SDK requires a region; other services mostly ignore it
  return new S3Client({
    ...(region !== undefined && { region }),
    ...(endpoint !== undefined && { endpoint }),
    ...(id && key && { credentials: credentialsOf(id, key, token) }),
    forcePathStyle: target.path_style,
    requestChecksumCalculation: checksums ? 'WHEN_SUPPORTED' : 'WHEN_REQUIRED',
    responseChecksumValidation: checksums ? 'WHEN_SUPPORTED' : 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      socketTimeout: SILENCE_MS,
    },
  });
}

function credentialsOf(id: Secret, key: Secret, token: Secret | undefined) {
  return {
    accessKeyId: id.reveal(),
    secretAccessKey: key.reveal(),
    ...(token && { sessionToken: token.reveal() }),
  };
}
