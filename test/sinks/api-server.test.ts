import { expect, onTestFinished, test } from 'vitest';
import { mayHaveArrived } from '../../src/leads/outcome.ts';
import { AnswerTooLong, ApiServer } from '../../src/sinks/http/api-server.ts';
import { SinkUnavailable } from '../../src/sinks/sink-unavailable.ts';
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
    const { receiver, origin, server } = await aServer();
    receiver.answerNext((_, response) => {
      response.writeHead(status, { 'content-length': '1000' });
      response.write('{"results":[]}', () => response.destroy());
    });
    const failure = await failureOf(server, sendsLeads);
    expect(failure).toBeInstanceOf(SinkUnavailable);
    expect(failure).not.toBeInstanceOf(AnswerTooLong);
    expect(mayHaveArrived(failure.toOutcome())).toBe(arrived);
    expect(failure.message).toBe(
      `${origin} answered with status ${status}, but the answer did not arrive completely.`,
    );
  },
);

test('the error distinguishes an answer that is longer than leadsync reads from one that breaks off', async () => {
  const { receiver, origin, server } = await aServer();
  receiver.answerNext((_, response) => {
    response.writeHead(200);
    response.end(' '.repeat(8 * 1024 * 1024 + 1));
  });
  const failure = await failureOf(server, true);
  expect(failure).toBeInstanceOf(AnswerTooLong);
  expect(mayHaveArrived(failure.toOutcome())).toBe(true);
  expect(failure.message).toBe(`${origin} answered with status 200, but the answer is longer than 8 MiB.`);
});

/** A server of a test, and the connections to it. */
async function aServer() {
  const receiver = await startWebhookReceiver();
  const { origin } = new URL(receiver.url);
  const server = new ApiServer(origin, someParts());
  onTestFinished(async () => {
    await server.close();
    await receiver.close();
  });
  return { receiver, origin, server };
}

/** Returns why a request fails. */
async function failureOf(server: ApiServer, sendsLeads: boolean): Promise<SinkUnavailable> {
  const limits = { stop: NEVER, confirmLease: () => undefined, sendsLeads };
  const called = server.call({ path: '/', headers: {}, body: '{}' }, limits);
  return called.then(
    () => expect.unreachable('an answer in place of a failure'),
    (error: unknown) => error as SinkUnavailable,
  );
}
