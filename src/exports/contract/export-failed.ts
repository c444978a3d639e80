import { diskFailure } from '../../platform/failures/disk-failure.ts';

/** A scheduled export could not be made or brought where it belongs. The message is a plain sentence without any secret. */
export class ExportFailed extends Error {
  override readonly name = 'ExportFailed';
  /** What the operator can do next. */
  readonly hint: string;

  constructor(message: string, hint: string, cause?: unknown) {
    super(message, { cause });
    this.hint = hint;
  }
}

/** Returns that an export of this name is there already: two runs began in the same second. */
export function nameTaken(place: string, cause?: unknown): ExportFailed {
  const message = `${place} is there already, and was left as it is.`;
  return new ExportFailed(message, 'A run that begins in a later second has another name.', cause);
}

/** A folder that cannot be written to, in words; undefined where it is another fault. */
export function folderFailure(folder: string, error: unknown): ExportFailed | undefined {
  const failure = diskFailure(error);
  return failure && new ExportFailed(`${folder} ${failure.what}.`, failure.hint, error);
}
