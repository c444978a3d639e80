/** Number of bytes at the start of a backup that contain the id of its ledger. */
export const OWNER_BYTES = 64;

/** Fixed part of a gzip header with a comment: no time, unknown operating system (RFC 1952, section 2.3). */
const HEADER = Buffer.from([0x1f, 0x8b, 0x08, 0x10, 0, 0, 0, 0, 0, 0xff]);
/** The rest of a gzip member without content: an empty block, the checksum and the length. */
const EMPTY = Buffer.from([0x03, 0x00, 0, 0, 0, 0, 0, 0, 0, 0]);
const COMMENT = /^leadsync-ledger ([0-9a-f]{1,32})\0/;

/**
 * Returns the beginning of a backup: a gzip member without content whose comment names the ledger. Every gzip decompressor skips this
 * member, and the owner of a backup can be read without decompressing the ledger.
 */
export function ownerMember(ledgerId: string): Buffer {
  return Buffer.concat([HEADER, Buffer.from(`leadsync-ledger ${ledgerId}\0`), EMPTY]);
}

/** Returns the id of the ledger from the first bytes of its backup; undefined if an earlier version of leadsync wrote it. */
export function ownerIn(start: Buffer): string | undefined {
  if (!start.subarray(0, HEADER.length).equals(HEADER)) return undefined;
  return COMMENT.exec(start.toString('latin1', HEADER.length))?.[1];
}
