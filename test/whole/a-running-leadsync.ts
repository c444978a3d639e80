import { readFileSync, writeFileSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { startStub } from '../stub/stub.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { startDaemon, writeConfig } from '../support/program/leadsync.ts';
import { canaryLead } from '../support/scene/canary.ts';
import { SECRET } from '../support/scene/scene.ts';
import { startWebhookReceiver } from '../support/servers/webhook-receiver.ts';

/** The admin token of `aRunningLeadsync`. */
export const TOKEN = 'correct-horse-battery-staple';

/** Starts a leadsync with a token, five leads, a webhook that refuses the second lead, and a folder. */
export async function aRunningLeadsync(more: Readonly<Record<string, unknown>> = {}) {
  const [stub, receiver, folder] = [await startStub(), await startWebhookReceiver(), tempDir()];
  for (const id of [1, 2, 3, 4, 5]) stub.addRaw(canaryLead(id));
  const refused = new Set([2]);
  receiver.answerAlways(({ body }, res) => {
    res.writeHead(refused.has(JSON.parse(String(body)).data?.id) ? 422 : 204).end();
  });
  const configured = await writeConfig(folder, {
    sources: {
      main: {
        base_url: stub.url,
        client_id: 'demo-client',
        client_secret: 'demo-secret',
        poll: { every: '1s' },
      },
    },
    sinks: {
      crm: { type: 'webhook', url: receiver.url, secret: SECRET, formerly: 'hub' },
      drop: { type: 'csv', directory: './drop', batch: { wait: '1s' } },
    },
    ...more,
  });
  const yaml = readFileSync(configured.configFile, 'utf8');
  writeFileSync(
    configured.configFile,
    yaml.replace(/listen: .*/, (line) => `${line}\n  token: \${TOKEN}`),
  );
  const daemon = await startDaemon(configured.configFile, configured.adminUrl, { env: { TOKEN } });
  onTestFinished(async () => {
    await daemon.kill();
    await stub.close();
    await receiver.close();
  });
  const ask = async (path: string, body?: unknown) => {
    const answer = await fetch(`${configured.adminUrl}/api/v1${path}`, {
      headers: { authorization: `Bearer ${TOKEN}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body === undefined ? {} : { method: 'POST', body: body === null ? null : JSON.stringify(body) }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: JSON, whose shape the tests are about
    return { status: answer.status, body: (await answer.json()) as any };
  };
  return { ...configured, daemon, receiver, refused, ask };
}
