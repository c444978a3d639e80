import { Webhook } from 'standardwebhooks';
import { z } from 'zod';
import { startWebhookReceiver, type WebhookReceiver } from '../../test/support/servers/webhook-receiver.ts';

/** How often each lead has arrived. */
export type Tally = Map<number, number>;

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

/** What `leadsync test-sink` sends. */
const testEvent = z.looseObject({ type: z.literal('lead.test') });

/** A receiver as somebody's CRM would have it: checks each signature, counts each lead and says so in a line. */
export async function startArrivals(
  port: number,
  secret: string,
  print: (line: string) => void,
): Promise<{ readonly receiver: WebhookReceiver; readonly tally: Tally }> {
  const tally: Tally = new Map();
  const webhook = new Webhook(secret);
  const receiver = await startWebhookReceiver({ port });
  receiver.answerAlways(({ body, headers }, res) => {
    try {
      const verified = webhook.verify(body.toString('utf8'), signatureHeaders(headers));
      if (testEvent.safeParse(verified).success) {
        print('webhook  a test event');
        return void res.writeHead(204).end();
      }
      const { data } = message.parse(verified);
      tally.set(data.id, (tally.get(data.id) ?? 0) + 1);
      print(`${line(data)}${(tally.get(data.id) ?? 0) > 1 ? '   AGAIN' : ''}`);
      res.writeHead(204).end();
    } catch (error) {
      print(`a request that is not right: ${error instanceof Error ? error.message : error}`);
      res.writeHead(400).end();
    }
  });
  return { receiver, tally };
}

function signatureHeaders(headers: NodeJS.Dict<string | string[]>): Record<string, string> {
  const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];
  return Object.fromEntries(names.map((name) => [name, String(headers[name] ?? '')]));
}

function line(data: z.output<typeof message>['data']): string {
  const parts = [data.service_name, data.client_name, data.client_address?.friendly_address ?? 'no address'];
  const seconds = (Date.now() - Date.parse(data.created_at)) / 1_000;
  // Leads that were there before the demo are as old as they say.
  const age = seconds < 3_600 ? `${seconds.toFixed(1)} s old` : '';
  return `webhook  lead ${String(data.id).padStart(3)}  ${age.padStart(9)}  ${parts.map(printable).join(' · ')}`;
}

/** Leads are typed by strangers: nothing of them may move the cursor, or turn the line around. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ');
}
