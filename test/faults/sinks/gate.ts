import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { Certificate } from '../../support/servers/certificate.ts';
import { freePort } from '../../support/servers/server-process.ts';

/** A port in front of a server that can refuse connections, speak TLS, or reset a connection in the middle of an exchange. */
export class Gate {
  readonly port: number;
  /** The server's port. */
  leadsTo = 0;
  /** Whether to reset the connection when the server answers: the server has the request, and the client does not know. */
  resets = false;
  readonly #certificate: Certificate | undefined;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;

  private constructor(port: number, certificate: Certificate | undefined) {
    this.port = port;
    this.#certificate = certificate;
  }

  /** Creates a closed gate. With a certificate, it speaks TLS. */
  static async make(certificate?: Certificate): Promise<Gate> {
    return new Gate(await freePort(), certificate);
  }

  /** The URL of the gate. */
  get url(): string {
    return `${this.#certificate ? 'https' : 'http'}://127.0.0.1:${this.port}/hooks/leads`;
  }

  async open(): Promise<void> {
    const pass = (client: Socket) => this.#pass(client);
    this.#server = this.#certificate ? createTlsServer(this.#certificate, pass) : createServer(pass);
    this.#server.listen(this.port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /** Refuses connections from now on and ends the existing ones. */
  async shut(): Promise<void> {
    if (!this.#server) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
    this.#server = undefined;
  }

  #pass(client: Socket): void {
    const server = connect(this.leadsTo, '127.0.0.1');
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
    client.pipe(server);
    server.on('data', (data) => (this.resets ? client.resetAndDestroy() : client.write(data)));
  }
}
