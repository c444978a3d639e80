import { join } from 'node:path';
import { codeOf } from '../platform/failures/error-code.ts';
import type { Files } from '../platform/files/files.ts';
import { readingFailure } from './folder-failure.ts';
import { type HeldLead, SinkUnavailable } from './sink.ts';

const DAY_FOLDER = /^day=/;

/** Files that a sink drops, and how they are read back. */
export interface HeldFormat {
  /** What it is called: `CSV`. */
  readonly name: string;
  /** With the dot. */
  readonly ending: string;
  /** The leads in one file; none where another hand wrote it, with other columns. Throws for what is not of the format. */
  readonly leadsOf: (file: string, content: Buffer) => AsyncIterable<HeldLead>;
}

/**
 * The leads in the files of a drop and of its days, one file in memory at a time: none where nothing was written yet.
 * @throws SinkUnavailable for whatever fails, a file that cannot be read and the stop included
 */
export async function* heldInFiles(
  files: Files,
  directory: string,
  format: HeldFormat,
  signal: AbortSignal,
): AsyncGenerator<HeldLead> {
  try {
    for await (const file of droppedFiles(files, directory, format)) {
      const content = await files.read(file);
      // Taken away since it was listed: whoever reads the files may remove them.
      if (!content) continue;
      for await (const lead of readable(format, file, content)) {
        signal.throwIfAborted();
        yield lead;
      }
    }
  } catch (cause) {
    if (signal.aborted) throw new SinkUnavailable(`Reading ${directory} was cut off.`, { hint: '', cause });
    if (cause instanceof SinkUnavailable) throw cause;
    if (codeOf(cause) === 'ENOENT') return;
    throw readingFailure(directory, cause);
  }
}

async function* droppedFiles(
  files: Files,
  directory: string,
  { ending }: HeldFormat,
): AsyncGenerator<string> {
  const names = [...(await files.list(directory))].sort();
  const days = names.filter((name) => DAY_FOLDER.test(name)).map((name) => join(directory, name));
  for (const folder of [directory, ...days])
    for (const name of [...(await listed(files, folder))].sort())
      if (name.startsWith('leads-') && name.endsWith(ending)) yield join(folder, name);
}

/** Nothing where the folder of a day was taken away meanwhile. */
async function listed(files: Files, folder: string): Promise<readonly string[]> {
  try {
    return await files.list(folder);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

async function* readable(
  { name, leadsOf }: HeldFormat,
  file: string,
  content: Buffer,
): AsyncGenerator<HeldLead> {
  try {
    yield* leadsOf(file, content);
  } catch (cause) {
    const hint = 'It was cut off or changed by another hand: move it away, or restore it, and ask again.';
    throw new SinkUnavailable(`${file} cannot be read as ${name}.`, { hint, cause });
  }
}
