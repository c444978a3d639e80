import { expect, onTestFinished, test } from 'vitest';
import { mayHaveArrived } from '../../src/leads/outcome.ts';
import { ApiServer } from '../../src/sinks/api-server.ts';
import { SinkUnavailable } from '../../src/sinks/sink.ts';
import { startWebhookReceiver } from '../support/servers/webhook-receiver.ts';
import { someParts } from './some-parts.ts';

const NEVER = new AbortController().signal;

test.each([
  [200, true, true],
  [200, false, false],
  [400, true, false],
  [502, true, true],
])(
  'of an answer with status %i that breaks off, to a request that sends leads (%s), leads may have arrived: %s',
  async (status, sendsLeads, arrived) => {
    const receiver = await startWebhookReceiver();
    const { origin } = new URL(receiver.url);
    const server = new ApiServer(origin, someParts());
    onTestFinished(async () => {
      await server.close();
      await receiver.close();
    });
    receiver.answerNext((_, response) => {
      response.writeHead(status, { 'content-length': '1000' });
      response.write('{"results":[]}', () => response.destroy());
    });
    const limits = { stop: NEVER, confirmLease: () => undefined, sendsLeads };
    const failure = await server.call({ path: '/', headers: {}, body: '{}' }, limits).catch((error) => error);
    expect(failure).toBeInstanceOf(SinkUnavailable);
    expect(mayHaveArrived(failure.toOutcome())).toBe(arrived);
    expect(failure.message).toBe(
      `${origin} answered with status ${status}, but the answer did not arrive completely.`,
    );
  },
);
