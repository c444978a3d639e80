import { z } from 'zod';
import { startWebhookReceiver, type WebhookReceiver } from '../../test/support/servers/webhook-receiver.ts';
import { signedEvent } from '../showcase/signed-event.ts';
import { count, type Tally } from '../showcase/tally.ts';

const message = z.looseObject({
  type: z.literal('lead.created'),
  data: z.looseObject({
    id: z.number(),
    service_name: z.string(),
    created_at: z.string(),
    client_name: z.string(),
    client_address: z.looseObject({ friendly_address: z.string() }).nullable(),
  }),
});

/** The event that `leadsync test-sink` sends. */
const testEvent = z.looseObject({ type: z.literal('lead.test') });

/** Starts a receiver such as that of a CRM: it verifies each signature, counts each lead and prints a line for it. */
export async function startArrivals(
  port: number,
  secret: string,
  print: (line: string) => void,
): Promise<{ readonly receiver: WebhookReceiver; readonly tally: Tally }> {
  const tally: Tally = new Map();
  const receiver = await startWebhookReceiver({ port });
  receiver.answerAlways((request, res) => {
    try {
      const verified = signedEvent(secret, request);
      if (testEvent.safeParse(verified).success) {
        print('webhook  a test event');
        return void res.writeHead(204).end();
      }
      const { data } = message.parse(verified);
      count(tally, data.id);
      print(`${line(data)}${(tally.get(data.id) ?? 0) > 1 ? '   AGAIN' : ''}`);
      res.writeHead(204).end();
    } catch (error) {
      print(`webhook  an invalid request: ${error instanceof Error ? error.message : error}`);
      res.writeHead(400).end();
    }
  });
  return { receiver, tally };
}

function line(data: z.output<typeof message>['data']): string {
  const parts = [data.service_name, data.client_name, data.client_address?.friendly_address ?? 'no address'];
  const seconds = (Date.now() - Date.parse(data.created_at)) / 1_000;
  // The leads that the stub lists from the start have much older times of creation.
  const age = seconds < 3_600 ? `${seconds.toFixed(1)} s old` : '';
  return `webhook  lead ${String(data.id).padStart(3)}  ${age.padStart(9)}  ${parts.map(printable).join(' · ')}`;
}

/** Replaces control and direction characters by spaces. Strangers type leads, and must not control the terminal. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ');
}
