import { once } from 'node:events';
import type { Connection, Submittable } from 'pg';

/**
 * `COPY … FROM STDIN` with prepared text (https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-COPY), to pass to
 * `client.query`. `done` resolves when the server has processed all of it.
 */
export class CopyIn implements Submittable {
  readonly done: Promise<void>;
  readonly #sql: string;
  readonly #parts: Iterable<Buffer>;
  readonly #settled = Promise.withResolvers<void>();

  constructor(sql: string, parts: Iterable<Buffer>) {
    this.#sql = sql;
    this.#parts = parts;
    this.done = this.#settled.promise;
  }

  submit(connection: Connection): void {
    connection.query(this.#sql);
  }

  handleCopyInResponse(connection: Connection): void {
    this.#send(connection).catch(this.#settled.reject);
  }

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.#settled.resolve();
  }

  handleError(error: Error): void {
    this.#settled.reject(error);
  }

  async #send({ stream }: Connection): Promise<void> {
    for (const part of this.#parts) {
      stream.write(message('d', part.length));
      if (!stream.write(part)) await once(stream, 'drain');
    }
    stream.write(message('c', 0));
  }
}

/** Returns the head of a protocol message: its kind, and its length including the length field. */
function message(kind: string, length: number): Buffer {
  const head = Buffer.alloc(5);
  head.write(kind);
  head.writeUInt32BE(length + 4, 1);
  return head;
}
