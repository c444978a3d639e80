import { Transform, type TransformCallback } from 'node:stream';
import type { z } from 'zod';
import type { Batch, Delivery } from '../../leads/delivery.ts';
import { type Delivered, type Outcome, type Refused, storedAnswer } from '../../leads/outcome.ts';
import { openTransport, PROGRAM_MAIL } from '../../platform/mail/smtp.ts';
import { withinDeadline } from '../../platform/time/deadline.ts';
import { attemptParts } from '../attempt-parts.ts';
import { type AttemptUnderWay, type Preview, type Sink, type TestResult, WITHOUT_LEASE } from '../sink.ts';
import type { SinkParts } from '../sink-type.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { judgeSmtpError } from './judge-error.ts';
import { type Mail, mailOf, previewHeaders } from './mail.ts';
import type { emailOptions } from './options.ts';

const NO_RECIPIENT: Refused = {
  kind: 'refused',
  reason: 'The expression in `to` does not give email addresses for this lead.',
  unsent: true,
};

/** Sends each email over a connection of its own. */
export class EmailSink implements Sink {
  readonly #parts: SinkParts;
  readonly #from: string;
  /** Whether the answers to delivered leads are stored too. */
  readonly #storesAll: boolean;
  /** Host and port of the server, as errors and previews name it. */
  readonly #host: string;
  readonly #url: URL;

  constructor(options: z.output<ReturnType<typeof emailOptions>>, parts: SinkParts) {
    this.#parts = parts;
    this.#from = options.from;
    this.#storesAll = options.store_answers === 'all';
    this.#url = new URL(options.server.reveal());
    this.#host = this.#url.host;
  }

  /** Connects and logs in, without sending an email. */
  async check(stop: AbortSignal): Promise<void> {
    const { timeoutMs } = this.#parts;
    try {
      const transport = await openTransport(this.#url, timeoutMs);
      await withinDeadline(timeoutMs, stop, async () => {
        await transport.verify();
      });
    } catch (error) {
      const judged = judgeSmtpError(this.#host, {
        error,
        isStopped: stop.aborted,
        isUnsent: true,
        timeoutMs,
      });
      throw judged instanceof SinkUnavailable ? judged : new SinkUnavailable(judged.reason, { hint: '' });
    }
  }

  async deliver(
    batch: Batch,
    stop: AbortSignal,
    under: AttemptUnderWay = WITHOUT_LEASE,
  ): Promise<readonly Outcome[]> {
    const attempt = ([delivery]: readonly Delivery[]) => this.#deliverOne(delivery, stop, under);
    const parts = batch.deliveries.map((delivery) => [delivery]);
    return attemptParts(parts, attempt, { under, partMs: this.#parts.timeoutMs });
  }

  async test({ deliveries: [delivery] }: Batch, stop: AbortSignal): Promise<TestResult> {
    const mail = delivery && this.#mailOf(delivery, { isTest: true });
    if (!mail)
      return {
        arrived: false,
        what: `${NO_RECIPIENT.reason} The test lead has the service "leadsync-test": use default(…, "sales@example.com") for other services.`,
      };
    const outcome = await this.#send(mail, stop, WITHOUT_LEASE);
    if (outcome.kind === 'refused') return { arrived: false, what: outcome.reason };
    const what = `${this.#host} accepted the test email to ${mail.to.join(', ')} as ${mail.messageId}. Check the mailbox and its spam folder.`;
    return { arrived: true, what };
  }

  preview(batch: Batch): readonly Preview[] {
    return batch.deliveries.map((delivery) => {
      const mail = this.#mailOf(delivery, { isTest: false });
      return mail
        ? {
            target: `email through ${this.#host}`,
            fields: previewHeaders(mail),
            content: `${mail.text}\n\n${mail.html}\n`,
          }
        : { target: 'no email', fields: {}, content: NO_RECIPIENT.reason };
    });
  }

  async close(): Promise<void> {
    // No connection stays open between two emails.
  }

  #mailOf(delivery: Delivery, { isTest }: { isTest: boolean }): Mail | undefined {
    return mailOf(delivery, { from: this.#from, isTest, leadUrl: this.#parts.leadUrl });
  }

  async #deliverOne(
    delivery: Delivery | undefined,
    stop: AbortSignal,
    under: AttemptUnderWay,
  ): Promise<Delivered | Refused> {
    const mail = delivery && this.#mailOf(delivery, { isTest: false });
    return mail ? this.#send(mail, stop, under) : NO_RECIPIENT;
  }

  /**
   * Sends an email over a connection of its own. If the server accepts it for at least one recipient, it counts as delivered.
   * @throws SinkUnavailable
   */
  async #send(
    { replyTo, to, ...mail }: Mail,
    stop: AbortSignal,
    { confirmLease }: AttemptUnderWay,
  ): Promise<Delivered | Refused> {
    const { timeoutMs, clock } = this.#parts;
    let isUnsent = true;
    const beforeSending = () => {
      confirmLease();
      isUnsent = false;
    };
    try {
      const transport = await openTransport(this.#url, timeoutMs);
      transport.use('stream', ({ message }, done) => {
        message.transform(() => new Gate(beforeSending));
        done();
      });
      const { response } = await withinDeadline(timeoutMs, stop, (signal) =>
        transport.sendMail({
          ...mail,
          ...PROGRAM_MAIL,
          to: [...to],
          ...(replyTo === undefined ? {} : { replyTo }),
          date: clock.now(),
          signal,
        }),
      );
      const ref = { object: 'message', id: mail.messageId };
      return { kind: 'delivered', ref, ...(this.#storesAll && { answer: storedAnswer(response) }) };
    } catch (error) {
      const judged = judgeSmtpError(this.#host, { error, isStopped: stop.aborted, isUnsent, timeoutMs });
      if (judged instanceof SinkUnavailable) throw judged;
      return judged;
    }
  }
}

/** Passes an email on unchanged. First calls `open`, once the connection and the login are complete. If `open` throws, no email is sent. */
class Gate extends Transform {
  constructor(open: () => void) {
    super({
      construct: (done) => {
        try {
          open();
          done();
        } catch (error) {
          done(error as Error);
        }
      },
    });
  }

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    done(null, chunk);
  }
}
