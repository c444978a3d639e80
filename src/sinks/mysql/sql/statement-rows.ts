type Value = string | number | null;

/** Maximum number of values in a prepared statement. The protocol has 16 bits for the number (MySQL manual, "COM_STMT_PREPARE Response"). */
const MAX_VALUES = 65_535;
/** Maximum size of a statement, in bytes, even if the server accepts more. */
const MAX_BYTES = 16_000_000;
/** Bytes of a value besides its text (type, name, null bit and length), and of a statement besides its values. */
const VALUE_BYTES = 14;
const STATEMENT_BYTES = 100;

/** A row needs a larger statement than the server accepts. The message is one sentence without text from the lead. */
export class TooLarge extends Error {
  override readonly name = 'TooLarge';
}

/**
 * Splits rows, in order, so that each part fits one prepared statement of up to `maxPacketBytes`.
 * @throws TooLarge if a single row does not fit
 */
export function statementParts<Row extends readonly Value[]>(
  rows: readonly Row[],
  maxPacketBytes: number,
): Row[][] {
  const parts: Row[][] = [];
  let part: Row[] = [];
  let [bytes, values] = [0, 0];
  for (const row of rows) {
    const size = row.reduce<number>((sum, value) => sum + sizeOf(value), STATEMENT_BYTES);
    if (size > maxPacketBytes)
      throw new TooLarge(
        `The lead needs a statement of ${size} bytes, but the server accepts at most ${maxPacketBytes}: raise max_allowed_packet on the server.`,
      );
    if (
      part.length === 0 ||
      bytes + size > Math.min(maxPacketBytes, MAX_BYTES) ||
      values + row.length > MAX_VALUES
    ) {
      part = [];
      parts.push(part);
      [bytes, values] = [0, 0];
    }
    part.push(row);
    bytes += size;
    values += row.length;
  }
  return parts;
}

function sizeOf(value: Value): number {
  return VALUE_BYTES + (typeof value === 'string' ? Buffer.byteLength(value) : 8);
}
