/** A file to be put into an archive. */
export interface TarEntry {
  /** At most 100 bytes, with `/` between folders. */
  readonly name: string;
  readonly content: Buffer;
}

const BLOCK = 512;

/** An archive of files in the ustar format (POSIX.1-1988), each readable by its owner alone. */
export function tar(entries: readonly TarEntry[], modifiedAt: Date): Buffer {
  const parts = entries.flatMap(({ name, content }) => [
    header(name, content.length, modifiedAt),
    content,
    Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK),
  ]);
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]); // two empty blocks end it
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
  block.write(' '.repeat(8), 148); // the checksum is reckoned as if it were blanks
  block.write('0', 156); // a plain file
  block.write('ustar\0' + '00', 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 7)} `, 148);
  return block;
}

/** A number in octal digits that fill a field of so many bytes, but for the NUL that ends it. */
function octal(number: number, bytes: number): string {
  return `${number.toString(8).padStart(bytes - 1, '0')}\0`;
}
