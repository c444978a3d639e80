import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { selfSigned } from '../../support/servers/certificate.ts';
import { deliver, failureOf, leads, NEVER, open, startStub } from './stub-scene.ts';

describe('login and TLS', () => {
  const username = 'leadsync';
  const password = 'p4ssw0rd,=x';

  test.each([
    ['plain', 'PLAIN'],
    ['scram-sha-256', 'SCRAM-SHA-256'],
    ['scram-sha-512', 'SCRAM-SHA-512'],
  ] as const)('leadsync logs in with %s, and reports a wrong password', async (sasl, mechanism) => {
    const stub = await startStub({ login: { mechanism, username, password } });
    expect(await deliver(open(stub, { sasl, username, password }), leads(1))).toMatchObject([
      { kind: 'delivered' },
    ]);
    const error = await failureOf(open(stub, { sasl, username, password: 'wr0ng' }).check(NEVER));
    expect(error.message).toBe(`${stub.address} does not accept the login.`);
    expect(`${error.message}${error.hint}`).not.toMatch(/wr0ng|p4ssw0rd/);
    expect(stub.faults).toEqual([]);
  });

  test('the error for a mechanism that the broker does not offer lists those that it offers', async () => {
    const stub = await startStub({ login: { mechanism: 'SCRAM-SHA-512', username, password } });
    const error = await failureOf(open(stub, { username, password }).check(NEVER));
    expect(error.message).toBe(
      `${stub.address} does not offer the SASL mechanism in \`sasl\`: it offers SCRAM-SHA-512.`,
    );
  });

  test('a broker that requires a login and gets none closes the connection', async () => {
    const stub = await startStub({ login: { mechanism: 'PLAIN', username, password } });
    const error = await failureOf(open(stub).check(NEVER));
    expect(error.message).toBe(`${stub.address} closed the connection.`);
    expect(error.hint).toContain('The port may need `tls: true`, or `username` and `password`.');
  });

  test.each(['', 'nonsense', 'r=x,s=,i=0', 'r=x'])(
    'a broker that answers a login with "%s" fails only the attempt',
    async (nonsense) => {
      const stub = await startStub({ login: { mechanism: 'SCRAM-SHA-256', username, password, nonsense } });
      const sink = open(stub, { sasl: 'scram-sha-256', username, password }, { timeoutMs: 2_000 });
      const error = await failureOf(sink.check(NEVER));
      expect(error.message).toContain(stub.address);
      expect(error.hint).not.toBe('');
    },
  );

  test('TLS works with a certificate of a known authority, and leadsync reports another one', async () => {
    const certificate = selfSigned('kafka');
    const stub = await startStub({ certificate });
    expect(await deliver(open(stub, { tls: true, tls_ca: certificate.cert }), leads(1))).toMatchObject([
      { kind: 'delivered' },
    ]);
    const error = await failureOf(open(stub, { tls: true }).check(NEVER));
    expect(error.message).toContain('has a self-signed TLS certificate');
  });

  test('leadsync reports TLS to a port without it, and the reverse', async () => {
    const plain = await startStub();
    const withTls = await failureOf(open(plain, { tls: true }, { timeoutMs: 2_000 }).check(NEVER));
    expect(withTls.message).toBe(`${plain.address} closed the connection during the TLS handshake.`);
    const encrypted = await startStub({ certificate: selfSigned('kafka') });
    const without = await failureOf(open(encrypted, {}, { timeoutMs: 2_000 }).check(NEVER));
    expect(`${without.message} ${without.hint}`).toContain('`tls: true`');
  });

  test('leadsync reports a TLS alert of a broker', async () => {
    const alert = Buffer.of(0x15, 3, 3, 0, 2, 2, 70); // RFC 8446, section 6: protocol_version
    const server = createServer((socket) => socket.once('data', () => socket.end(alert)));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const error = await failureOf(open({ address }).check(NEVER));
    expect(`${error.message} ${error.hint}`).toBe(`${address} requires TLS. Set \`tls: true\`.`);
  });

  test.each(['HTTP/1.1 400 Bad Request\r\n\r\n', '\0\0\0\u0004\0\0\0\u0001', '\0\0\0\u0008\0\0\0\u0009abcd'])(
    'leadsync reports another program on the port: %j',
    async (answer) => {
      const server = createServer((socket) => socket.once('data', () => socket.end(answer)));
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      onTestFinished(() => void server.close());
      const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
      const error = await failureOf(open({ address }).check(NEVER));
      expect(error.message).toMatch(/ (closed the connection|does not answer as Kafka does)\.$/);
    },
  );
});
