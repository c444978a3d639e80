import type { LedgerConfig } from '../../config/contract/config.ts';
import type { ExportTarget } from '../../exports/contract/options.ts';
import type { RestoreSource } from '../../exports/restore-source.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import type { Surroundings } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';

/** Matches an address of S3-compatible storage: the bucket, and the rest of the key. */
const ADDRESS = /^s3:\/\/([^/]+)(?:\/(.*))?$/;

type Places = Pick<LedgerConfig, 'backups' | 'exports'>;

/**
 * Returns the destination that a user typed: a folder, or `s3://bucket/folder`. Takes the options for access to a bucket from a configured
 * backup or export with the same bucket, or else from the AWS SDK's environment variables. @throws CommandFailure
 */
export function targetOf(typed: string, config: Places, surroundings: Surroundings): ExportTarget {
  if (!typed.startsWith('s3:')) return { type: 'directory', directory: typed };
  const [, bucket = '', folder = ''] = partsOf(typed);
  return { ...accessTo(bucket, config, surroundings), prefix: folder.replace(/([^/])$/, '$1/') };
}

/** Returns the backup that a user typed: a path, or `s3://bucket/folder/file`. @throws CommandFailure */
export function sourceOf(typed: string, config: Places, surroundings: Surroundings): RestoreSource {
  if (!typed.startsWith('s3:')) return { kind: 'file', path: typed };
  const [, bucket = '', key = ''] = partsOf(typed);
  const start = key.lastIndexOf('/') + 1;
  const target = { ...accessTo(bucket, config, surroundings), prefix: key.slice(0, start) };
  return { kind: 's3', target, file: key.slice(start) };
}

function partsOf(typed: string): RegExpExecArray {
  const parts = ADDRESS.exec(typed);
  if (parts) return parts;
  throw new CommandFailure(
    ExitCode.usage,
    'This is not the address of a bucket.',
    'Write it as s3://bucket/folder.',
  );
}

function accessTo(
  bucket: string,
  { backups, exports }: Places,
  { env }: Surroundings,
): Extract<ExportTarget, { type: 's3' }> {
  for (const { target } of [...backups, ...exports])
    if (target.type === 's3' && target.bucket === bucket) return target;
  // Services other than AWS, which need an address of their own, rarely have a host name for each bucket.
  const isElsewhere = Boolean(env['AWS_ENDPOINT_URL_S3'] ?? env['AWS_ENDPOINT_URL']);
  return { type: 's3', bucket, prefix: '', path_style: isElsewhere, checksums: true };
}
