import { createHash, createHmac, pbkdf2Sync, randomBytes, timingSafeEqual } from 'node:crypto';
import { protocolErrors, type Reader, type Writer } from '@platformatic/kafka';

/** A login that the stub accepts, and no other. */
export interface Login {
  readonly mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512';
  readonly username: string;
  readonly password: string;
  /** Answers a login with this text, whatever it is. */
  readonly nonsense?: string;
}

/** The login of one connection. */
export interface LoginSession {
  readonly isDone: boolean;
  answer(
    request: 'SaslHandshake' | 'SaslAuthenticate',
    reader: Reader,
    writer: Writer,
    version: number,
  ): void;
}

const ITERATIONS = 4096;
const FAILED = 'SASL_AUTHENTICATION_FAILED';

/** Returns the login of a new connection. */
export function startLogin(login: Login): LoginSession {
  const steps = login.mechanism === 'PLAIN' ? plainSteps(login) : scramSteps(login);
  const session = {
    isDone: false,
    answer: (request: string, reader: Reader, writer: Writer, version: number) => {
      if (request === 'SaslHandshake') return handshake(login, reader, writer);
      const bytes = reader.readBytes(false);
      const step = login.nonsense === undefined ? steps.shift()?.(bytes.toString()) : login.nonsense;
      writer.appendInt16(step === undefined ? codeOf(FAILED) : 0);
      writer.appendString(null, false).appendBytes(Buffer.from(step ?? ''), false);
      if (version >= 1) writer.appendInt64(0n);
      session.isDone = step !== undefined && steps.length === 0;
    },
  };
  return session;
}

function handshake({ mechanism }: Login, reader: Reader, writer: Writer): void {
  const isOffered = reader.readString(false) === mechanism;
  writer.appendInt16(isOffered ? 0 : codeOf('UNSUPPORTED_SASL_MECHANISM'));
  writer.appendArray([mechanism], (w, name) => void w.appendString(name, false), false, false);
}

/** Returns what to answer to each message; undefined if the login is wrong. */
type Step = (message: string) => string | undefined;

/** RFC 4616. */
function plainSteps({ username, password }: Login): Step[] {
  return [(message) => (message === `\0${username}\0${password}` ? '' : undefined)];
}

/** RFC 5802, with the hashes of RFC 7677. */
function scramSteps({ mechanism, username, password }: Login): Step[] {
  const hash = mechanism === 'SCRAM-SHA-256' ? 'sha256' : 'sha512';
  const size = hash === 'sha256' ? 32 : 64;
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, ITERATIONS, size, hash);
  const hmac = (key: Buffer, text: string) => createHmac(hash, key).update(text).digest();
  let [bare, first] = ['', ''];
  return [
    (message) => {
      bare = message.replace(/^n,,/, '');
      const [, name, nonce] = /^n=([^,]*),r=(.+)$/.exec(bare) ?? [];
      first = `r=${nonce}${randomBytes(9).toString('hex')},s=${salt.toString('base64')},i=${ITERATIONS}`;
      return name === username ? first : undefined;
    },
    (message) => {
      const [, withoutProof = '', proof = ''] = /^(.*),p=(.*)$/.exec(message) ?? [];
      const text = `${bare},${first},${withoutProof}`;
      const stored = createHash(hash).update(hmac(salted, 'Client Key')).digest();
      const signature = hmac(stored, text);
      const clientKey = Buffer.from(
        Buffer.from(proof, 'base64').map((byte, at) => byte ^ (signature[at] ?? 0)),
      );
      const isRight = timingSafeEqual(createHash(hash).update(clientKey).digest(), stored);
      return isRight ? `v=${hmac(hmac(salted, 'Server Key'), text).toString('base64')}` : undefined;
    },
  ];
}

function codeOf(id: string): number {
  return protocolErrors[id]?.code ?? -1;
}
