import { createHash, type Hash } from 'node:crypto';
import { codeOf } from '../../platform/failures/error-code.ts';
import { SourceError } from '../contract/source.ts';
import type { ServiceAnswer } from '../http/service-call.ts';

/** The decoded body of one answer. Counts its bytes, and hashes them if requested, as they are read. It can be read once. */
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

  /** Number of decoded bytes read so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** SHA-256 of the bytes read so far, hex; empty if hashing was not requested. */
  get sha256(): string {
    return this.#hash?.copy().digest('hex') ?? '';
  }

  /**
   * Reads the body. @throws SourceError `incomplete` if the connection breaks, `protocol` if decompression fails; the signal's reason if it aborts
   */
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
      hint: 'The service, or a proxy in between, sends a body that does not match its Content-Encoding.',
      cause: error,
    });
  }
  const what = code === 'UND_ERR_BODY_TIMEOUT' ? 'stalls' : 'breaks off';
  return new SourceError('incomplete', `The listing ${what} after ${bytes} bytes (${code}).`, {
    hint: 'If this persists, check whether a proxy between leadsync and the service truncates answers.',
    cause: error,
  });
}
