import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { now } from './now.ts';

const NO_CONTENT = Buffer.from('HTTP/1.1 204 No Content\r\n\r\n');
const END_OF_HEAD = Buffer.from('\r\n\r\n');
const ID = /"id":(\d+)/;

/** The arrivals since the last reset. Times are in ms since 1970. */
export interface Arrivals {
  readonly posts: number;
  /** Different leads. */
  readonly leads: number;
  readonly firstAt: number | undefined;
  readonly lastAt: number | undefined;
}

/**
 * A webhook receiver that counts every POST and answers 204. It uses bare sockets, because a node:http server would take as much CPU
 * time as the programs that are measured. It reads only bodies with a Content-Length, which all senders here use.
 */
export class Receiver {
  readonly #server: Server = createServer({ noDelay: true }, (socket) => this.#serve(socket));
  readonly #onLead: (id: number, at: number) => void;
  readonly #sockets = new Set<Socket>();
  #ids = new Set<number>();
  #posts = 0;
  #firstAt: number | undefined;
  #lastAt: number | undefined;

  constructor(onLead: (id: number, at: number) => void) {
    this.#onLead = onLead;
  }

  /** Listens on loopback and returns the port. */
  async listen(): Promise<number> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  /** The arrivals since the last `reset`. */
  get arrivals(): Arrivals {
    return { posts: this.#posts, leads: this.#ids.size, firstAt: this.#firstAt, lastAt: this.#lastAt };
  }

  /** Closes the server and every connection. */
  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** Resets the arrivals. */
  reset(): void {
    this.#ids = new Set();
    this.#posts = 0;
    this.#firstAt = undefined;
    this.#lastAt = undefined;
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    let unread: Buffer = Buffer.alloc(0);
    socket.on('error', () => {
      // The sender has closed the connection.
    });
    socket.on('data', (part: Buffer) => {
      unread = unread.length === 0 ? part : Buffer.concat([unread, part]);
      for (let end = endOfRequest(unread); end !== undefined; end = endOfRequest(unread)) {
        this.#take(unread.subarray(0, end));
        socket.write(NO_CONTENT);
        unread = unread.subarray(end);
      }
    });
  }

  #take(request: Buffer): void {
    const at = now();
    const id = Number(ID.exec(request.toString('latin1', request.indexOf(END_OF_HEAD)))?.[1]);
    this.#posts += 1;
    this.#firstAt ??= at;
    this.#lastAt = at;
    this.#ids.add(id);
    this.#onLead(id, at);
  }
}

/** Returns the end of the first request; undefined until it is complete. */
function endOfRequest(bytes: Buffer): number | undefined {
  const head = bytes.indexOf(END_OF_HEAD);
  if (head < 0) return undefined;
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(bytes.toString('latin1', 0, head))?.[1] ?? 0);
  const end = head + END_OF_HEAD.length + length;
  return bytes.length < end ? undefined : end;
}
