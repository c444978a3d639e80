import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

/** An email as a mailbox has it. */
export interface StoredMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly raw: string;
  readonly mail: Email;
}

/** A mail server of the library `smtp-server`, which keeps what it accepts. */
export interface MailServer {
  /** `smtp://127.0.0.1:12345` */
  readonly url: string;
  /** Every email that was accepted, in order. */
  readonly stored: readonly StoredMail[];
  /** Stores the next email, and closes every connection in place of its answer. */
  cutNext(): void;
  close(): Promise<void>;
}

/** Starts a server on 127.0.0.1. `options` change what it accepts. */
export async function startMailServer(options: SMTPServerOptions = {}): Promise<MailServer> {
  const stored: StoredMail[] = [];
  const sockets = new Set<Socket>();
  let cuts = 0;
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS', 'AUTH'],
    logger: false,
    onData: (stream, session, done) => {
      keep(stream, session.envelope, stored).then(() => {
        cuts -= 1;
        if (cuts < 0) done();
        else for (const socket of sockets) socket.destroy();
      }, done);
    },
    ...options,
  });
  server.on('error', () => undefined); // a client that goes away is no error of the test
  server.server.on('connection', (socket: Socket) => {
    sockets.add(socket.once('close', () => sockets.delete(socket)));
  });
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  return {
    url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    stored,
    cutNext: () => {
      cuts = 1;
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

interface Envelope {
  readonly mailFrom: false | { readonly address: string };
  readonly rcptTo: readonly { readonly address: string }[];
}

async function keep(stream: AsyncIterable<Buffer>, { mailFrom, rcptTo }: Envelope, stored: StoredMail[]) {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  const raw = Buffer.concat(chunks);
  stored.push({
    from: mailFrom === false ? '' : mailFrom.address,
    to: rcptTo.map(({ address }) => address),
    raw: raw.toString(),
    mail: await PostalMime.parse(raw),
  });
}
