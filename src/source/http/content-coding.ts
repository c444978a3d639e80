import { finished, pipeline, type Readable } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip } from 'node:zlib';

/** The codings that can be read, as Accept-Encoding names them (RFC 9110, section 12.5.3). */
export const READ_CODINGS = 'gzip, br';

/** What has come is given at once, and a body that is cut off in its middle is given up to there: whoever reads it notices. */
const GZIP = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH };
const BROTLI = {
  flush: constants.BROTLI_OPERATION_FLUSH,
  finishFlush: constants.BROTLI_OPERATION_FLUSH,
};

/**
 * The body of an answer without its content coding (RFC 9110, section 8.4). In a coding that was not asked for it is given as it
 * came. Its errors are those who read it hear of; without a reader nobody does.
 */
export function decoded(body: Readable, coding: string | null): Readable {
  const decoder = decoderOf(coding);
  const read = decoder === undefined ? body : pipeline(body, decoder, unheard);
  finished(read, unheard);
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

/** A stream whose error has no listener ends the process. */
function unheard(): void {}
