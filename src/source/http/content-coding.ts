import { finished, pipeline, type Readable } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip } from 'node:zlib';

/** The content codings that leadsync can decode, for Accept-Encoding (RFC 9110, section 12.5.3). */
export const READ_CODINGS = 'gzip, br';

/**
 * Options that make decoders return data immediately, and return as much of a truncated body as there is. The reader of the body detects that its end
 * is missing.
 */
const GZIP = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH };
const BROTLI = {
  flush: constants.BROTLI_OPERATION_FLUSH,
  finishFlush: constants.BROTLI_OPERATION_FLUSH,
};

/**
 * Returns the body of an answer without its content coding (RFC 9110, section 8.4). Returns a body in an unknown coding unchanged.
 * Errors reach the reader of the body; without a reader they are ignored.
 */
export function decoded(body: Readable, coding: string | null): Readable {
  const decoder = decoderOf(coding);
  const read = decoder === undefined ? body : pipeline(body, decoder, ignoreError);
  finished(read, ignoreError);
  return read;
}

function decoderOf(coding: string | null) {
  switch (coding?.trim().toLowerCase()) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip(GZIP);
    case 'br':
      return createBrotliDecompress(BROTLI);
    default:
      return undefined;
  }
}

/** Listens for errors, because a stream whose error has no listener ends the process. */
function ignoreError(): void {}
