import { symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../support/servers/server-process.ts';
import { Install } from '../an-install.ts';

describe('leadsync healthcheck', () => {
  async function aServer(answer: number | 'nothing'): Promise<string> {
    const paths: string[] = [];
    const server = createServer((request, response) => {
      paths.push(request.url ?? '');
      if (answer !== 'nothing') response.writeHead(request.url === '/livez' ? answer : 404).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  test('exits with 0 if leadsync answers at the configured address', async () => {
    const listen = await aServer(200);
    const { code, stdout } = await new Install({ admin: { listen } }).run(['healthcheck']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `leadsync at ${listen} answers.\n` });
  });

  test('asks on loopback if the server listens on every address', async () => {
    const port = (await aServer(200)).split(':')[1];
    const { stdout } = await new Install({ admin: { listen: `0.0.0.0:${port}` } }).run(['healthcheck']);
    expect(stdout).toBe(`leadsync at 127.0.0.1:${port} answers.\n`);
  });

  test('asks at the address of --at', async () => {
    const worker = await aServer(200);
    expect((await new Install().run(['healthcheck', '--at', worker])).code).toBe(0);
    // Otherwise a container would be stopped for a mistake in a file that is not in force.
    const faulty = new Install({ admin: { listen: worker }, wacth: true });
    expect((await faulty.run(['healthcheck'])).code).toBe(0);
  });

  test('exits with 1 and the reason if no server listens or its answer is an error', async () => {
    const listen = `127.0.0.1:${await freePort()}`;
    const absent = await new Install({ admin: { listen } }).run(['healthcheck']);
    expect(absent.code).toBe(1);
    expect(absent.stderr).toContain(`leadsync at ${listen} is not healthy: no connection (ECONNREFUSED).`);
    const ill = await new Install({ admin: { listen: await aServer(503) } }).run(['healthcheck']);
    expect(ill.code).toBe(1);
    expect(ill.stderr).toContain('it answered with HTTP 503');
  });

  test('exits with 1 within seconds if there is no answer', async () => {
    const hung = await new Install({ admin: { listen: await aServer('nothing') } }).run(['healthcheck']);
    expect(hung.code).toBe(1);
    expect(hung.stderr).toContain('no answer within 3 s');
  });

  test.each(['healthcheck', 'reload'])(
    '%s reports that it cannot check which process holds the data directory',
    async (command) => {
      const install = new Install({ admin: { listen: await aServer(200) } });
      symlinkSync('data', join(install.folder, 'data'));
      const { code, stderr } = await install.run([command]);
      expect(code).toBe(1);
      expect(stderr).toMatch(/^The data directory \S+ cannot be used \(ELOOP\)\.\n/);
    },
  );

  test('says so if `admin.listen` is off', async () => {
    const { code, stderr } = await new Install({ admin: { listen: 'off' } }).run(['healthcheck']);
    expect(code).toBe(1);
    expect(stderr).toContain('admin.listen is off');
  });
});
