import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { findKcat } from '../../support/servers/kafka-broker.ts';
import { startKafkaStub } from './kafka-stub.ts';

// The stub and an independent producer have to understand each other.
test.each(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const)(
  'kcat logs in to the stub with %s and writes a record',
  async (mechanism) => {
    const stub = await startKafkaStub({ login: { mechanism, username: 'ana', password: 's3cr3t' } });
    onTestFinished(() => stub.close());
    const login = ['security.protocol=sasl_plaintext', `sasl.mechanism=${mechanism}`, 'sasl.username=ana'];
    const options = [...login, 'sasl.password=s3cr3t', 'acks=all'].flatMap((one) => ['-X', one]);
    const args = [
      '-P',
      '-b',
      stub.address,
      '-t',
      'leads',
      '-p',
      '1',
      '-k',
      'main:1',
      '-H',
      'type=lead.created',
    ];
    const running = promisify(execFile)(findKcat() ?? 'kcat', [...args, ...options]);
    running.child.stdin?.end('text that repeats, text that repeats, text that repeats');
    await running;
    expect(stub.stored).toEqual([
      {
        topic: 'leads',
        partition: 1,
        key: 'main:1',
        value: 'text that repeats, text that repeats, text that repeats',
        headers: { type: 'lead.created' },
        compression: 0,
      },
    ]);
  },
);
