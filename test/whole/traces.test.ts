import { describe, expect, onTestFinished, test } from 'vitest';
import { startStub } from '../stub/stub.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { startDaemon, writeConfig } from '../support/program/leadsync.ts';
import { freePort } from '../support/servers/server-process.ts';
import { startTraceReceiver } from '../support/servers/trace-receiver.ts';
import { startWebhookReceiver } from '../support/servers/webhook-receiver.ts';
import { until } from '../support/time/until.ts';

/** Starts a leadsync with a webhook sink and these environment variables. */
async function aDaemon(env: Record<string, string>) {
  const [stub, crm] = [await startStub({ leads: 3 }), await startWebhookReceiver()];
  onTestFinished(async () => {
    await stub.close();
    await crm.close();
  });
  const { url: base_url, clientId: client_id, clientSecret: client_secret } = stub;
  const { configFile, adminUrl } = await writeConfig(tempDir(), {
    sources: { main: { base_url, client_id, client_secret, poll: { every: '1s' } } },
    sinks: { crm: { type: 'webhook', url: crm.url, retry: { schedule: ['100ms'] } } },
  });
  const daemon = await startDaemon(configFile, adminUrl, { env: { OTEL_BSP_SCHEDULE_DELAY: '100', ...env } });
  onTestFinished(async () => void (await daemon.kill('SIGKILL')));
  return { stub, crm, daemon };
}

async function aReceiver() {
  const traces = await startTraceReceiver();
  onTestFinished(() => traces.close());
  return traces;
}

describe('traces', () => {
  test("each poll and each attempt has a span, linked to the poll that listed the lead, and none contains a lead's text", async () => {
    const traces = await aReceiver();
    const { crm, stub } = await aDaemon({
      OTEL_EXPORTER_OTLP_ENDPOINT: traces.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20t',
      OTEL_SERVICE_NAME: 'leads-of-acme',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    });
    await until(
      'three attempts are traced',
      () => traces.spans.filter(({ name }) => name === 'deliver crm').length === 3,
    );
    const attempts = traces.spans.filter(({ name }) => name === 'deliver crm');
    const first = traces.spans.find(({ name }) => name === 'poll main');
    expect(first).toMatchObject({
      attributes: { 'leadsync.source': 'main', 'leadsync.poll.status': 'success', 'leadsync.leads.new': 3 },
      resource: { 'service.name': 'leads-of-acme', 'deployment.environment.name': 'test' },
      failed: false,
    });
    for (const attempt of attempts) {
      expect(attempt).toMatchObject({
        attributes: {
          'messaging.destination.name': 'crm',
          'messaging.batch.message_count': 1,
          'leadsync.delivered': 1,
        },
        links: [{ traceId: first?.traceId, spanId: first?.spanId }],
        failed: false,
      });
    }
    expect(crm.received.map(({ headers }) => headers['traceparent']).sort()).toEqual(
      attempts.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`).sort(),
    );
    expect(traces.headers[0]).toMatchObject({ authorization: 'Bearer t' });
    const sent = Buffer.concat([...traces.bodies]).toString('latin1');
    for (const { body } of crm.received) expect(sent).not.toContain(JSON.parse(String(body)).client_email);
    expect(sent).not.toContain(stub.clientSecret);
  });

  test('the span of a failure carries one word for it', async () => {
    const traces = await aReceiver();
    const { crm, stub } = await aDaemon({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${traces.url}/v1/traces` });
    crm.answerAlways({ status: 503, body: 'canary' });
    stub.addLeads(1);
    const failed = await until('a failed attempt is traced', () => traces.spans.find((span) => span.failed));
    expect(failed.attributes).toMatchObject({
      'error.type': '503',
      'http.response.status_code': 503,
      'leadsync.unavailable': 1,
    });
    expect(Buffer.concat([...traces.bodies]).toString('latin1')).not.toContain('canary');
  });

  test('traces that no collector accepts delay nothing and are reported once', async () => {
    const { stub, crm, daemon } = await aDaemon({
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await freePort()}`,
      OTEL_EXPORTER_OTLP_TIMEOUT: '300',
    });
    const unsent = () => daemon.log.filter(({ event }) => event === 'traces-unsent');
    await until('leadsync reports the unsent traces', () => unsent().length > 0);
    await until('the leads arrive', () => crm.received.length === 3);
    const polls = stub.listingRequests;
    await until('more polls have been traced', () => stub.listingRequests > polls + 3);
    const stopped = performance.now();
    expect(await daemon.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(performance.now() - stopped).toBeLessThan(5_000);
    expect(unsent()).toHaveLength(1);
  });

  test.each([
    ['no endpoint is configured', {}],
    ['they are switched off', { OTEL_SDK_DISABLED: 'true' }],
    ['another exporter is configured', { OTEL_TRACES_EXPORTER: 'none' }],
    ['the sampler drops all of them', { OTEL_TRACES_SAMPLER: 'always_off' }],
  ])('no traces are made if %s', async (_, more: Record<string, string>) => {
    const traces = await aReceiver();
    const asked = Object.keys(more).length > 0 ? { OTEL_EXPORTER_OTLP_ENDPOINT: traces.url } : {};
    const { crm, daemon } = await aDaemon({ ...asked, ...more });
    await until('the leads arrive', () => crm.received.length === 3);
    await daemon.kill('SIGTERM');
    expect(traces.spans).toEqual([]);
    // A receiver that is called by an untraced attempt learns only that it is not sampled.
    const flags = new Set(crm.received.map(({ headers }) => String(headers['traceparent']).slice(-2)));
    expect([...flags]).toEqual([more['OTEL_TRACES_SAMPLER'] ? '00' : 'ed']);
  });
});
