import { appendFileSync } from 'node:fs';
import { z } from 'zod';
import { startWebhookReceiver } from '../../test/support/servers/webhook-receiver.ts';
import { signedEvent } from '../showcase/signed-event.ts';

const message = z.looseObject({
  type: z.enum(['leadsync.alert', 'leadsync.alert.test']),
  notices: z.array(
    z.looseObject({
      state: z.enum(['begun', 'lasts', 'over']),
      condition: z.string(),
      about: z.string().nullable(),
      what: z.string(),
    }),
  ),
});

/** A notice as leadsync sends it. */
export type ToldNotice = z.output<typeof message>['notices'][number];

/** The destination of leadsync's alerts. */
export interface AlertReceiver {
  readonly url: string;
  /** Every notice, oldest first. */
  readonly told: readonly ToldNotice[];
  close(): Promise<void>;
}

/** Starts a receiver that appends each notice to a file, as a line of JSON, and hands it to `onNotice`. */
export async function startAlertReceiver(
  secret: string,
  file: string,
  onNotice: (notice: ToldNotice) => void,
): Promise<AlertReceiver> {
  const told: ToldNotice[] = [];
  const server = await startWebhookReceiver({ kept: 0 });
  server.answerAlways((request, res) => {
    const { notices } = message.parse(signedEvent(secret, request));
    for (const notice of notices) {
      told.push(notice);
      appendFileSync(file, `${JSON.stringify(notice)}\n`);
      onNotice(notice);
    }
    res.writeHead(204).end();
  });
  return { url: server.url, told, close: () => server.close() };
}
