import { generateKeyPairSync, sign } from 'node:crypto';

/** A certificate and its private key, both in PEM, as `node:tls` expects them. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** Creates a self-signed certificate for 127.0.0.1, valid for a day (X.509 version 3, RFC 5280, section 4.1). */
export function selfSigned(name: string): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ecdsaWithSha256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
  const commonName = sequence(set(sequence(oid(0x55, 0x04, 0x03), der(0x0c, Buffer.from(name)))));
  const now = Date.now();
  const dayMs = 86_400_000;
  const toBeSigned = sequence(
    der(0xa0, integer(2)), // version 3
    integer(2 ** 24 + Math.floor(Math.random() * 2 ** 30)),
    ecdsaWithSha256,
    commonName,
    sequence(time(now - dayMs), time(now + dayMs)),
    commonName,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(forLoopback())),
  );
  const signature = sign('sha256', toBeSigned, privateKey);
  const certificate = sequence(toBeSigned, ecdsaWithSha256, der(0x03, Buffer.of(0), signature));
  const lines = certificate.toString('base64').replace(/.{64}(?=.)/g, '$&\n');
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** Returns the extension subjectAltName with the one address (RFC 5280, section 4.2.1.6). */
function forLoopback(): Buffer {
  return sequence(oid(0x55, 0x1d, 0x11), der(0x04, sequence(der(0x87, Buffer.of(127, 0, 0, 1)))));
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, ...parts);
}

function set(...parts: Buffer[]): Buffer {
  return der(0x31, ...parts);
}

function oid(...bytes: number[]): Buffer {
  return der(0x06, Buffer.from(bytes));
}

/** Encodes 0 to 127 in one byte, and larger values in four bytes whose first is 1 to 127: DER forbids needless zeros. */
function integer(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return der(0x02, value < 0x80 ? bytes.subarray(3) : bytes);
}

/** Encodes a UTCTime: `261120100000Z`. */
function time(ms: number): Buffer {
  return der(0x17, Buffer.from(`${new Date(ms).toISOString().replaceAll(/[-:T]/g, '').slice(2, 14)}Z`));
}

/** Encodes tag, length and content (X.690, section 8.1). */
function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.of(tag, length), content]);
  const head = length < 0x100 ? [tag, 0x81, length] : [tag, 0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(head), content]);
}
