import { diskFailure } from '../../platform/failures/disk-failure.ts';

/** An export or a backup could not be written, moved to its destination or read. The message is a plain sentence without secrets. */
export class ExportFailed extends Error {
  override readonly name = 'ExportFailed';
  /** The next step for the operator. */
  readonly hint: string;

  constructor(message: string, hint: string, cause?: unknown) {
    super(message, { cause });
    this.hint = hint;
  }
}

/** Returns the error for an export or backup whose name is taken, because two runs began in the same second. */
export function nameTaken(place: string, cause?: unknown): ExportFailed {
  const message = `${place} already exists and was left as it is.`;
  return new ExportFailed(message, 'A run that begins in a later second gets a different name.', cause);
}

/** Returns the error for a folder that cannot be written to; undefined if the error does not come from the disk. */
export function folderFailure(folder: string, error: unknown): ExportFailed | undefined {
  const failure = diskFailure(error);
  return failure && new ExportFailed(`${folder} ${failure.what}.`, failure.hint, error);
}
