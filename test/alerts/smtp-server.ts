import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

/** A mail as it came: its envelope and its text. */
export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly data: string;
}

/** A mail server that takes what it is sent. */
export interface SmtpServer {
  /** `127.0.0.1:12345` */
  readonly host: string;
  readonly received: readonly ReceivedMail[];
  /** Every command that it was given, without what was in a mail. */
  readonly commands: readonly string[];
  /** In place of what it answers otherwise, by the command's first word: `{ RCPT: '550 no' }`. `.` is the end of a mail. */
  readonly answers: Record<string, string>;
  close(): Promise<void>;
}

/** Starts a server that speaks as much SMTP (RFC 5321) as a test needs. */
export async function startSmtpServer(): Promise<SmtpServer> {
  const received: ReceivedMail[] = [];
  const commands: string[] = [];
  const answers: Record<string, string> = {};
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.once('close', () => sockets.delete(socket)).on('error', () => socket.destroy()));
    socket.write('220 test\r\n');
    talk(socket, answers, commands, (mail) => received.push(mail));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    commands,
    answers,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

const ANSWERS: Readonly<Record<string, string>> = {
  EHLO: '250-test\r\n250 AUTH PLAIN',
  AUTH: '235 welcome',
  DATA: '354 go on',
  QUIT: '221 bye',
};

function talk(
  socket: Socket,
  answers: Readonly<Record<string, string>>,
  commands: string[],
  take: (mail: ReceivedMail) => void,
): void {
  let rest = '';
  let from = '';
  let to: string[] = [];
  let data: string[] | undefined;
  const line = (text: string): string | undefined => {
    if (data && text !== '.') return void data.push(text.replace(/^\./, '')); // a dot is doubled (RFC 5321, section 4.5.2)
    if (data) {
      const answer = answers['.'] ?? '250 taken';
      if (answer.startsWith('2')) take({ from, to, data: data.join('\n') });
      [data, to] = [undefined, []];
      return answer;
    }
    commands.push(text);
    const [word = ''] = text.toUpperCase().split(' ');
    if (word === 'MAIL') from = addressIn(text);
    if (word === 'RCPT') to = [...to, addressIn(text)];
    const answer = answers[word] ?? ANSWERS[word] ?? '250 ok';
    if (word === 'DATA' && answer.startsWith('354')) data = [];
    return answer;
  };
  socket.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\r\n');
    rest = lines.pop() ?? '';
    for (const one of lines) {
      const answer = line(one);
      if (answer !== undefined) socket.write(`${answer}\r\n`);
    }
  });
}

function addressIn(text: string): string {
  return /<([^>]*)>/.exec(text)?.[1] ?? '';
}
