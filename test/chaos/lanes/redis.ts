import { Redis } from 'ioredis';
import type { Chance } from '../../simulation/chance.ts';
import type { PrivateRedis } from '../../support/servers/private-redis.ts';
import { type Deed, lengthOf, oneOf, type Range, type Spell, spells } from '../deed.ts';

/** Draws the troubles of Redis: killed, frozen for shorter and longer than a job's lock, flushed, full, made a replica. */
export function drawRedis(chance: Chance, endMs: number): Deed<PrivateRedis>[] {
  return spells(chance, endMs, [300, 4_000], [200, 1_500], [200, 4_000], BEYOND_LOCK).flatMap((spell) =>
    oneOf(chance, [killed, frozen, frozen, flushed, flushed, scripts, cut, full, replica])(spell),
  );
}

/** Longer than the lock of a job, and than the time after which it counts as stalled. */
const BEYOND_LOCK: Range = [6_500, 11_000];

function killed(spell: Spell): Deed<PrivateRedis>[] {
  return [
    { atMs: spell.fromMs, text: `killed for ${lengthOf(spell)}`, act: (redis) => redis.crash() },
    { atMs: spell.toMs, text: 'started again, empty', act: (redis) => redis.restart() },
  ];
}

function frozen(spell: Spell): Deed<PrivateRedis>[] {
  return [
    { atMs: spell.fromMs, text: `frozen for ${lengthOf(spell)}`, act: freeze },
    { atMs: spell.toMs, text: 'goes on', act: thaw },
  ];
}

function flushed({ fromMs: atMs }: Spell): Deed<PrivateRedis>[] {
  return [{ atMs, text: 'FLUSHALL', act: (redis) => told(redis, ['FLUSHALL']) }];
}

function scripts({ fromMs: atMs }: Spell): Deed<PrivateRedis>[] {
  return [{ atMs, text: 'SCRIPT FLUSH', act: (redis) => told(redis, ['SCRIPT', 'FLUSH']) }];
}

function cut({ fromMs: atMs }: Spell): Deed<PrivateRedis>[] {
  const act = (redis: PrivateRedis) => told(redis, ['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes']);
  return [{ atMs, text: 'all connections cut', act }];
}

function full(spell: Spell): Deed<PrivateRedis>[] {
  const allow = (bytes: string) => (redis: PrivateRedis) =>
    told(redis, ['CONFIG', 'SET', 'maxmemory', bytes]);
  return [
    { atMs: spell.fromMs, text: `out of memory for ${lengthOf(spell)}`, act: allow('1') },
    { atMs: spell.toMs, text: 'has memory again', act: allow('0') },
  ];
}

function replica(spell: Spell): Deed<PrivateRedis>[] {
  const follow =
    (...whom: string[]) =>
    (redis: PrivateRedis) =>
      told(redis, ['REPLICAOF', ...whom]);
  return [
    { atMs: spell.fromMs, text: `a read-only replica for ${lengthOf(spell)}`, act: follow('127.0.0.1', '1') },
    { atMs: spell.toMs, text: 'its own master again', act: follow('NO', 'ONE') },
  ];
}

function freeze(redis: PrivateRedis): void {
  redis.process.kill('SIGSTOP');
}

function thaw(redis: PrivateRedis): void {
  redis.process.kill('SIGCONT');
}

/** Makes a Redis usable again, whatever was done to it. */
export async function healRedis(redis: PrivateRedis): Promise<void> {
  thaw(redis);
  const { exitCode, signalCode } = redis.process;
  if (exitCode !== null || signalCode !== null) return redis.restart();
  await told(redis, ['REPLICAOF', 'NO', 'ONE']);
  await told(redis, ['CONFIG', 'SET', 'maxmemory', '0']);
}

/** Sends a command over a separate connection, which ends with it. @throws Error if Redis does not answer within 2 s */
async function told(redis: PrivateRedis, [command = '', ...args]: readonly string[]): Promise<void> {
  const client = new Redis(redis.url, {
    lazyConnect: true,
    retryStrategy: () => null,
    connectTimeout: 2_000,
    commandTimeout: 2_000,
  });
  client.on('error', () => undefined); // the command fails as well, with the reason
  try {
    await client.connect();
    await client.call(command, ...args);
  } finally {
    client.disconnect();
  }
}
