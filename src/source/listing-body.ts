import { createHash } from 'node:crypto';
import type { Response } from 'undici';
import { codeOf } from '../platform/network-failure.ts';
import { HeldBody } from './held-body.ts';
import { type PauseParts, withPauses } from './pauses.ts';
import { SourceError } from './source.ts';

/** The body of one answer, decoded, counted and hashed as it is read. It can be read once. */
export class ListingBody {
  readonly #response: Response;
  readonly #signal: AbortSignal;
  readonly #hash = createHash('sha256');
  #bytes = 0;

  constructor(response: Response, signal: AbortSignal) {
    this.#response = response;
    this.#signal = signal;
  }

  /** Decoded bytes that were read so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** SHA-256 over what was read so far, hex. */
  get sha256(): string {
    return this.#hash.copy().digest('hex');
  }

  /** The length that the service announced, in decoded bytes; undefined when it did not, or when the body is compressed. */
  get announcedBytes(): number | undefined {
    const { headers } = this.#response;
    const length = headers.get('content-length');
    return headers.has('content-encoding') || length === null || !/^\d+$/.test(length)
      ? undefined
      : Number(length);
  }

  /** @throws SourceError `incomplete` when the connection breaks, `protocol` when it cannot be decompressed; the signal's reason */
  async *read(): AsyncGenerator<Buffer, void, void> {
    try {
      for await (const part of this.#response.body ?? []) {
        const bytes = asBuffer(part);
        this.#bytes += bytes.length;
        this.#hash.update(bytes);
        yield bytes;
      }
    } catch (error) {
      this.#signal.throwIfAborted();
      throw brokenOff(error, this.#bytes);
    }
  }
}

/** A comparison that takes longer than this, in ms, goes on only while the body comes fast. */
const COMPARING_MS = 2_000;
const SLOW_BYTES_PER_MS = 100;

/** What a body was compared with. */
export interface LastBody {
  readonly sha256: string;
  readonly bytes: number;
}

/**
 * Reads a body that may be byte for byte the last one. Gives undefined when it is; else all of its parts, those that were read
 * for the comparison first. A body that breaks off during the comparison is given as far as it came, with its error at the
 * end. One that comes slowly is not held back any longer: there may be new leads in what has come.
 */
export async function unlessSame(
  body: ListingBody,
  last: LastBody,
  folder: string,
  pauses: PauseParts,
): Promise<AsyncIterable<Buffer> | undefined> {
  const { announcedBytes } = body;
  if (announcedBytes !== undefined && announcedBytes !== last.bytes) return body.read();
  const held = new HeldBody(folder);
  const rest = withPauses(body.read(), pauses);
  const startMs = pauses.clock.monotonicMs();
  try {
    for (let part = await rest.next(); !part.done; part = await rest.next()) {
      if (part.value !== undefined) {
        const more = await held.add(part.value);
        if (!more || body.bytes > last.bytes) return concat(held, rest);
      }
      if (isSlow(body.bytes, pauses.clock.monotonicMs() - startMs)) return concat(held, rest);
    }
  } catch (error) {
    return concat(held, failing(error));
  }
  if (body.bytes !== last.bytes || body.sha256 !== last.sha256) return concat(held, rest);
  await held.drop();
  return undefined;
}

function isSlow(bytes: number, ms: number): boolean {
  return ms > COMPARING_MS && bytes < ms * SLOW_BYTES_PER_MS;
}

async function* concat(held: HeldBody, rest: AsyncGenerator<Buffer | undefined, void, void>) {
  try {
    yield* held.release();
    for await (const part of rest) if (part !== undefined) yield part;
  } finally {
    await held.drop();
    await rest.return();
  }
}

// biome-ignore lint/correctness/useYield: it stands for the rest of a body that has nothing more to give
async function* failing(error: unknown): AsyncGenerator<Buffer, void, void> {
  throw error;
}

function asBuffer(part: Uint8Array): Buffer {
  return Buffer.from(part.buffer, part.byteOffset, part.byteLength);
}

function brokenOff(error: unknown, bytes: number): SourceError {
  const code = codeOf(error) ?? 'unknown error';
  if (code.startsWith('Z_') || code.startsWith('ERR_BROTLI') || code.startsWith('ERR_ZSTD')) {
    return new SourceError('protocol', `The listing cannot be decompressed after ${bytes} bytes (${code}).`, {
      hint: 'Something between here and the service sends a body that does not fit its Content-Encoding.',
      cause: error,
    });
  }
  const what = code === 'UND_ERR_BODY_TIMEOUT' ? 'stands still' : 'breaks off';
  return new SourceError('incomplete', `The listing ${what} after ${bytes} bytes (${code}).`, {
    hint: 'If it stays so, something between here and the service cuts answers short.',
    cause: error,
  });
}
