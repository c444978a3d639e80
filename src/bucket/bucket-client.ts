import { S3Client } from '@aws-sdk/client-s3';
import type { Secret } from '../platform/options/secret.ts';
import { NO_REGION } from './bucket-failure.ts';
import type { BucketAccess } from './bucket-options.ts';

const CONNECT_MS = 10_000;
/** Maximum time without data from the storage service, in ms. */
const SILENCE_MS = 60_000;

/**
 * Returns a client for a bucket. It opens no connection before its first request.
 * @param attempts maximum number of attempts for each request; absent: the SDK's default
 */
export function openClient(access: BucketAccess, attempts?: number): S3Client {
  const { endpoint, checksums, access_key_id: id, secret_access_key: key, session_token: token } = access;
  const region = access.region ?? (endpoint === undefined ? undefined : 'us-east-1'); // the SDK requires a region; other services mostly ignore it
  return new S3Client({
    ...(region !== undefined && { region }),
    ...(endpoint !== undefined && { endpoint }),
    ...(id && key && { credentials: credentialsOf(id, key, token) }),
    ...(attempts !== undefined && { maxAttempts: attempts }),
    forcePathStyle: access.path_style,
    requestChecksumCalculation: checksums ? 'WHEN_SUPPORTED' : 'WHEN_REQUIRED',
    responseChecksumValidation: checksums ? 'WHEN_SUPPORTED' : 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      socketTimeout: SILENCE_MS,
    },
  });
}

/** Throws an error with the name `NoRegion` if neither the configuration nor the environment names a region. */
export async function requireRegion(client: S3Client): Promise<void> {
  try {
    await client.config.region();
  } catch (cause) {
    throw Object.assign(new Error('no region', { cause }), { name: NO_REGION });
  }
}

function credentialsOf(id: Secret, key: Secret, token: Secret | undefined) {
  return {
    accessKeyId: id.reveal(),
    secretAccessKey: key.reveal(),
    ...(token && { sessionToken: token.reveal() }),
  };
}
