/** A file in an archive. */
export interface TarEntry {
  /** Path with `/` between folders, at most 100 bytes long. */
  readonly name: string;
  readonly content: Buffer;
}

const BLOCK = 512;

/** Returns an archive in the ustar format (POSIX.1-1988). Each file is readable only by its owner. */
export function tar(entries: readonly TarEntry[], modifiedAt: Date): Buffer {
  const parts = entries.flatMap(({ name, content }) => [
    header(name, content.length, modifiedAt),
    content,
    Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK),
  ]);
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]); // two empty blocks mark the end
}

function header(name: string, bytes: number, modifiedAt: Date): Buffer {
  if (Buffer.byteLength(name) > 100) throw new Error('the name is too long for a tar header');
  const block = Buffer.alloc(BLOCK);
  block.write(name, 0);
  block.write(octal(0o600, 8), 100);
  block.write(octal(0, 8), 108); // user
  block.write(octal(0, 8), 116); // group
  block.write(octal(bytes, 12), 124);
  block.write(octal(Math.floor(modifiedAt.getTime() / 1_000), 12), 136);
  block.write(' '.repeat(8), 148); // the checksum counts its own field as spaces
  block.write('0', 156); // a plain file
  block.write('ustar\0' + '00', 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 7)} `, 148);
  return block;
}

/** Returns a number in octal digits for a field of `bytes` bytes, including the final NUL. */
function octal(number: number, bytes: number): string {
  return `${number.toString(8).padStart(bytes - 1, '0')}\0`;
}
