import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { drained } from '../../support/servers/drained.ts';
import type { ReceivedRequest, ReceiverAnswer } from '../../support/servers/webhook-receiver.ts';

/** Answers that take their time, and what was seen of them: how many at once, how much was sent, who was left waiting. */
export class InFlight {
  /** The most that were under way at one time. */
  most = 0;
  /** Connections that the other side closed before the answer's end, by receiver. */
  readonly left = new Map<string, number>();
  /** Bytes that went out, by receiver. */
  readonly sent = new Map<string, number>();
  readonly #alone = new WeakSet<ReceivedRequest>();
  #now = 0;

  /** Whether it came while no other was under way. */
  wasAlone(request: ReceivedRequest): boolean {
    return this.#alone.has(request);
  }

  /** A status after so many ms. */
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

  /** 200 at once, and then the same piece again and again, `times` times or for ever. */
  body(name: string, piece: string, everyMs: number, times = Number.POSITIVE_INFINITY): ReceiverAnswer {
    return async (request, res) => {
      res.writeHead(200, { 'content-type': 'text/plain' });
      res.flushHeaders();
      // The status is the answer; nobody will hear the end of the rest.
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

  /** An answer whose very head comes one byte a second. */
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
