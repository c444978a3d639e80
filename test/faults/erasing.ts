import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { runLeadsync } from '../support/program/leadsync.ts';
import { aScene } from '../support/scene/a-scene.ts';
import { canaryLead, expectNoCanary } from '../support/scene/canary.ts';
import type { CarrierName, Scene, SceneOptions } from '../support/scene/scene.ts';
import { until } from '../support/time/until.ts';
import { ask } from './redis/own-redis.ts';

/** The leads of the person to erase, all with the same e-mail address. */
export const PERSON = [9_001, 9_002];
export const ADDRESS = 'k9canary7q@example.com';
/** A rejected element with the person's address that belongs to no known lead. */
const ASIDE = JSON.stringify({ client_email: ADDRESS, client_name: 'k9canary7q aside' });

/**
 * Opens a scene whose service lists a person among others. The webhook answers the first request for each of the person's leads with
 * 503 and the request's own body.
 */
export async function aSceneWithAPerson(carrier: CarrierName, options: SceneOptions = {}): Promise<Scene> {
  const scene = await aScene(carrier, {
    stub: { leads: 20 },
    ...options,
    config: { store: { client_key: 'a key that is long enough' }, ...options.config },
    sinks: {
      ...options.sinks,
      crm: { retry: { schedule: ['200ms', '1s', '1s', '1s'] }, ...options.sinks?.crm },
      warehouse: { mirror: '1s', ...options.sinks?.warehouse },
    },
  });
  for (const id of PERSON) scene.stub.addRaw(canaryLead(id));
  scene.stub.addRaw(ASIDE);
  const failed = new Set<string>();
  scene.receiver.answerAlways(({ headers, body }, res) => {
    const id = String(headers['webhook-id']);
    const fails = body.includes(ADDRESS) && failed.size !== failed.add(id).size;
    const status = fails ? 503 : 204;
    res.writeHead(status).end(status === 503 ? body : undefined);
  });
  return scene;
}

/** Runs leadsync until every sink and the mirror have the person and everything is settled. */
export async function untilHeld(scene: Scene): Promise<void> {
  await until(
    'everything is settled',
    async () => {
      const { stdout } = await scene.run('status', '--json');
      const { sinks } = JSON.parse(stdout) as { sinks: { pending: number; delivered: number }[] };
      return sinks.every(({ pending, delivered }) => pending === 0 && delivered >= 22);
    },
    60_000,
  );
  await until(
    'the mirror has the person',
    async () => {
      const versions = `SELECT FROM ${scene.schema}.lead_versions WHERE lead_id IN (${PERSON.join()})`;
      const aside = `SELECT FROM ${scene.schema}.rejected_leads`;
      return (await scene.query(versions)).length === 2 && (await scene.query(aside)).length === 1;
    },
    30_000,
  );
}

/** Runs `leadsync erase … --yes` as a process with armed failpoints. */
export function runErase({ configFile }: Scene, args: readonly string[], failpoints?: string) {
  const env = { LEADSYNC_FAILPOINTS: failpoints };
  return runLeadsync(['erase', ...args, '--yes', '-c', configFile], { env });
}

/** Returns every text that leadsync keeps, in its own files and where it can write, by place. */
export async function everythingKept(scene: Scene): Promise<ReadonlyMap<string, string>> {
  const kept = new Map<string, string>();
  for (const file of readdirSync(scene.dataDir, { recursive: true, withFileTypes: true }))
    if (file.isFile()) {
      const path = join(file.parentPath, file.name);
      kept.set(path, readFileSync(path, 'latin1'));
    }
  const tables = await scene.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = '${scene.schema}'`,
  );
  for (const { name } of tables)
    kept.set(
      `${name} in PostgreSQL`,
      JSON.stringify(await scene.query(`SELECT t::text FROM ${scene.schema}.${name} t`)),
    );
  if (scene.carrier === 'bullmq') kept.set('Redis', await everythingInRedis(scene));
  return kept;
}

async function everythingInRedis({ configFile }: Scene): Promise<string> {
  const { queue } = parse(readFileSync(configFile, 'utf8')) as {
    queue: { redis_url: string; prefix: string };
  };
  return ask(queue.redis_url, async (redis) => {
    const keys = await redis.keys(`*${queue.prefix}*`);
    const dumps = await Promise.all(keys.map((key) => redis.dumpBuffer(key)));
    return [...keys, ...dumps.map((dump) => dump?.toString('latin1'))].join('\n');
  });
}

/** Fails if any trace of the person remains. */
export async function expectErased(scene: Scene): Promise<void> {
  for (const [place, text] of await everythingKept(scene)) expectNoCanary(text, place);
}

/** Returns what the webhook received about the person, in order: `lead.created 9001`. */
export function told({ receiver }: Scene): string[] {
  return receiver.received.flatMap(({ body, status = 0 }) => {
    const { type, data } = JSON.parse(body.toString()) as { type: string; data: { id: number } };
    return status === 204 && PERSON.includes(data.id) ? [`${type} ${data.id}`] : [];
  });
}
