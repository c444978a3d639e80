import { join } from 'node:path';
import { codeOf } from '../platform/failures/error-code.ts';
import type { Files } from '../platform/files/files.ts';
import { readingFailure } from './folder-failure.ts';
import { SinkUnavailable, type StoredLead } from './sink.ts';

const DAY_FOLDER = /^day=/;

/** A file format of a drop, with its reader. */
export interface StoredFormat {
  /** The name of the format in messages, such as `CSV`. */
  readonly name: string;
  /** The file extension, with the dot. */
  readonly ending: string;
  /** Returns the leads in a file; none if the file has other columns. Throws if the file does not have this format. */
  readonly leadsOf: (file: string, content: Buffer) => AsyncIterable<StoredLead>;
}

/**
 * Returns the leads in the files of a drop and its day folders, with one file in memory at a time. Returns no leads if no file has been
 * written yet.
 * @throws SinkUnavailable for any failure, including an unreadable file and an aborted `signal`
 */
export async function* leadsInFiles(
  files: Files,
  directory: string,
  format: StoredFormat,
  signal: AbortSignal,
): AsyncGenerator<StoredLead> {
  try {
    for await (const file of droppedFiles(files, directory, format)) {
      const content = await files.read(file);
      // A consumer removed the file after it was listed.
      if (!content) continue;
      for await (const lead of readable(format, file, content)) {
        signal.throwIfAborted();
        yield lead;
      }
    }
  } catch (cause) {
    if (signal.aborted)
      throw new SinkUnavailable(`Reading ${directory} was interrupted.`, { hint: '', cause });
    if (cause instanceof SinkUnavailable) throw cause;
    if (codeOf(cause) === 'ENOENT') return;
    throw readingFailure(directory, cause);
  }
}

async function* droppedFiles(
  files: Files,
  directory: string,
  { ending }: StoredFormat,
): AsyncGenerator<string> {
  const names = [...(await files.list(directory))].sort();
  const days = names.filter((name) => DAY_FOLDER.test(name)).map((name) => join(directory, name));
  for (const folder of [directory, ...days])
    for (const name of [...(await listed(files, folder))].sort())
      if (name.startsWith('leads-') && name.endsWith(ending)) yield join(folder, name);
}

/** Returns the names in a folder, or none if it no longer exists. */
async function listed(files: Files, folder: string): Promise<readonly string[]> {
  try {
    return await files.list(folder);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

async function* readable(
  { name, leadsOf }: StoredFormat,
  file: string,
  content: Buffer,
): AsyncGenerator<StoredLead> {
  try {
    yield* leadsOf(file, content);
  } catch (cause) {
    const hint =
      'The file is truncated, or another program changed it. Move it away or restore it, then try again.';
    throw new SinkUnavailable(`${file} cannot be read as ${name}.`, { hint, cause });
  }
}
