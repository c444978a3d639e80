import { createHash, type Hash } from 'node:crypto';
import { codeOf } from '../../platform/failures/error-code.ts';
import { SourceError } from '../contract/source.ts';
import type { ServiceAnswer } from '../http/service-call.ts';

/** The body of one answer, decoded and counted as it is read, and hashed where that is asked for. It can be read once. */
export class ListingBody {
  readonly #response: ServiceAnswer;
  readonly #signal: AbortSignal;
  readonly #hash: Hash | undefined;
  #bytes = 0;

  constructor(response: ServiceAnswer, signal: AbortSignal, { hashed }: { hashed: boolean }) {
    this.#response = response;
    this.#signal = signal;
    this.#hash = hashed ? createHash('sha256') : undefined;
  }

  /** Decoded bytes that were read so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** SHA-256 over what was read so far, hex; empty when it is not hashed. */
  get sha256(): string {
    return this.#hash?.copy().digest('hex') ?? '';
  }

  /** @throws SourceError `incomplete` when the connection breaks, `protocol` when it cannot be decompressed; the signal's reason */
  async *read(): AsyncGenerator<Buffer, void, void> {
    try {
      for await (const bytes of this.#response.body as AsyncIterable<Buffer>) {
        this.#bytes += bytes.length;
        this.#hash?.update(bytes);
        yield bytes;
      }
    } catch (error) {
      this.#signal.throwIfAborted();
      throw brokenOff(error, this.#bytes);
    }
  }
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
