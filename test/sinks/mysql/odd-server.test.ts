import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { SinkUnavailable } from '../../../src/sinks/sink-unavailable.ts';
import { aBatch, aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { selfSigned } from '../../support/servers/certificate.ts';
import { type PrivateMariadb, startMariadb } from '../../support/servers/private-mariadb.ts';
import { type Database, openMysql, startDatabase } from './database.ts';

const NEVER = new AbortController().signal;

let server: PrivateMariadb;
let database: Database;
let certificate: string;
let folder: string;

/** A server with the settings of another age, which takes TLS. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'leadsync-test-'));
  chmodSync(folder, 0o755);
  const { cert, key } = selfSigned('db.example');
  certificate = join(folder, 'cert.pem');
  writeFileSync(certificate, cert);
  writeFileSync(join(folder, 'key.pem'), key);
  server = await startMariadb({
    settings: {
      'ssl-cert': certificate,
      'ssl-key': join(folder, 'key.pem'),
      'sql-mode': '',
      'character-set-server': 'latin1',
      'character-set-client-handshake': 0,
      'default-storage-engine': 'MyISAM',
      'transaction-isolation': 'SERIALIZABLE',
      autocommit: 0,
      'max-allowed-packet': '1M',
      'wait-timeout': 1,
    },
  });
  database = await startDatabase(`${server.url}`);
});

afterAll(async () => {
  await database?.close();
  await server?.close();
  rmSync(folder, { recursive: true, force: true });
});

function open(parameters: string) {
  const sink = openMysql({ url: `${database.url}?${parameters}` }, { concurrency: 1 });
  onTestFinished(() => sink.close());
  return sink;
}

const leads = (from: number, client_name: string) =>
  aBatch(
    Array.from({ length: 1000 }, (_, at) =>
      aDelivery({ leadId: BigInt(from + at), raw: aLead({ id: from + at, client_name }) }),
    ),
  );

test('leads arrive whole and in parts that the server takes, whatever its defaults are', async () => {
  const outcomes = await open('').deliver(leads(1, '漢😀'.repeat(200)), NEVER);
  expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['delivered']));
  const [found] = await database.query(
    'SELECT COUNT(*) AS leads, COUNT(DISTINCT client_name) AS names, MAX(CHAR_LENGTH(client_name)) AS length, MAX(created_at) AS at FROM leads',
  );
  expect(found).toEqual({ leads: 1000, names: 1, length: 400, at: '2026-11-20 09:59:30.000000' });
  const [table] = await database.query("SHOW TABLE STATUS LIKE 'leads'");
  expect(table?.['Engine']).toBe('InnoDB');
});

test('TLS without verification, and with that of the authority, delivers over TLS', async () => {
  for (const parameters of [
    'sslmode=no-verify',
    'ssl-mode=REQUIRED',
    `sslmode=verify-ca&sslrootcert=${certificate}`,
  ])
    await open(parameters).check(NEVER);
});

test.each([
  [
    'of an unknown authority',
    'sslmode=verify-ca',
    /has no TLS certificate that leadsync accepts: self-signed/,
  ],
  [
    'that cannot be read',
    'sslmode=verify-ca&sslrootcert=/nowhere',
    /socket or certificate file in its address is missing/,
  ],
])('a certificate %s is reported', async (_, parameters, message) => {
  const error = await open(parameters)
    .check(NEVER)
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(SinkUnavailable);
  expect((error as SinkUnavailable).message).toMatch(message);
});

test('a certificate for another host is not accepted, and one for an address cannot be verified', async () => {
  const url = new URL(database.url);
  url.hostname = 'localhost';
  const sink = openMysql({ url: `${url.href}?sslmode=verify-full&sslrootcert=${certificate}` });
  onTestFinished(() => sink.close());
  await expect(sink.check(NEVER)).rejects.toThrow(/altnames/);
  expect(() => open('sslmode=verify-full')).toThrow(/use the host name, or sslmode=verify-ca/);
});
