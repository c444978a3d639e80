import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { drained } from '../../support/servers/drained.ts';
import type { ReceivedRequest, ReceiverAnswer } from '../../support/servers/webhook-receiver.ts';

/** Slow answers, and what was observed of them: the maximum in flight, the bytes sent, and the connections that clients closed. */
export class InFlight {
  /** Maximum requests in flight at one time. */
  most = 0;
  /** Connections that the client closed before the end of the answer, by receiver. */
  readonly left = new Map<string, number>();
  /** Bytes sent, by receiver. */
  readonly sent = new Map<string, number>();
  readonly #alone = new WeakSet<ReceivedRequest>();
  #now = 0;

  /** Whether no other request was in flight when this one arrived. */
  wasAlone(request: ReceivedRequest): boolean {
    return this.#alone.has(request);
  }

  /** Answers with a status after `afterMs`. */
  answering(status: number, afterMs: number): ReceiverAnswer {
    return async (request, res) => {
      this.#now += 1;
      if (this.#now === 1) this.#alone.add(request);
      this.most = Math.max(this.most, this.#now);
      await sleep(afterMs);
      this.#now -= 1;
      res.writeHead(status).end();
    };
  }

  /** Answers 200 immediately, then sends the same chunk `times` times or without end. */
  body(name: string, piece: string, everyMs: number, times = Number.POSITIVE_INFINITY): ReceiverAnswer {
    return async (request, res) => {
      res.writeHead(200, { 'content-type': 'text/plain' });
      res.flushHeaders();
      // The status is the answer; the client need not read the rest.
      request.status = 200;
      this.#noteLeaving(name, res);
      for (let sent = 0; sent < times && !res.destroyed; sent += 1) {
        this.sent.set(name, (this.sent.get(name) ?? 0) + piece.length);
        if (!res.write(piece)) await drained(res);
        await sleep(everyMs);
      }
      res.end();
    };
  }

  /** Sends an answer whose head itself arrives at one byte per second. */
  async drip(name: string, res: ServerResponse): Promise<void> {
    this.#noteLeaving(name, res);
    for (const byte of `HTTP/1.1 204 No Content\r\nx-a: ${'b'.repeat(600)}`) {
      if (res.destroyed || !res.socket) return;
      res.socket.write(byte);
      await sleep(1_000);
    }
  }

  #noteLeaving(name: string, res: ServerResponse): void {
    res.once('close', () => {
      if (!res.writableFinished) this.left.set(name, (this.left.get(name) ?? 0) + 1);
    });
  }
}
